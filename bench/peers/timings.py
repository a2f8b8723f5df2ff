"""What follows from steps that were timed in turn: medians, and ratios round by round.

A machine is in another mood every minute. So two contenders are compared within a round, in which
they ran one right after the other; the median of these ratios counts, and how far they are
spread says how much it is worth.

rounds: a list with a dict per round, from the contender's name to the ms of its measured steps.
A contender that could not run in a round is not in its dict.
"""
import statistics

CONTENDERS = ["kolm_fp32", "torch_fp32", "kolm_bf16", "torch_bf16"]
# How many times as fast as the first is the second?
RATIOS = {
    "fp32": ("torch_fp32", "kolm_fp32"),
    "bf16": ("torch_bf16", "kolm_bf16"),
    "kolm": ("kolm_fp32", "kolm_bf16"),
    "torch": ("torch_fp32", "torch_bf16"),
}


def medians(rounds):
    """ms per step of everyone who ran: the median of the medians of the rounds."""
    return {who: statistics.median(statistics.median(r[who]) for r in rounds if who in r)
            for who in CONTENDERS if any(who in r for r in rounds)}


def ratios(rounds):
    """Of every pair that ever ran in one round: the median, the ends, and the number of rounds."""
    result = {}
    for name, (first, second) in RATIOS.items():
        each = [statistics.median(r[first]) / statistics.median(r[second])
                for r in rounds if first in r and second in r]
        if each:
            result[name] = {"median": statistics.median(each), "min": min(each), "max": max(each),
                            "rounds": len(each)}
    return result


def speeds(rounds, tokens):
    """Tokens per second of everyone who ran: of the rounds' medians the median and the ends."""
    result = {}
    for who in CONTENDERS:
        each = [1e3 * tokens / statistics.median(r[who]) for r in rounds if who in r]
        if each:
            result[who] = {"median": statistics.median(each), "min": min(each), "max": max(each)}
    return result


def digits(value):
    """Three of them, or all that stand before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def show_ms(ms):
    return "-" if ms is None else digits(ms)


def show_ratio(ratio):
    if ratio is None:
        return "-"
    return f"{digits(ratio['median'])} ({digits(ratio['min'])}..{digits(ratio['max'])})"


def show_speed(speed):
    return "-" if speed is None else f"{speed['median']:,.0f} ({speed['min']:,.0f}..{speed['max']:,.0f})"
