"""The stack of src/model/mlp.h, its loss and its optimizers in PyTorch, as kolm defines them."""
import torch
from torch.nn import functional

ACTIVATIONS = {"none": lambda x: x, "relu": torch.relu, "gelu": functional.gelu,
               "tanh": torch.tanh, "silu": functional.silu,
               "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh")}
EPS = 1e-5


class RMSNorm(torch.nn.Module):
    """By its definition: PyTorch has one only from 2.4 on."""

    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * self.weight


NORMS = {"layer": lambda width: torch.nn.LayerNorm(width, eps=EPS), "rms": RMSNorm}


class Layer(torch.nn.Linear):
    """A linear layer with what goes before and behind it."""

    def __init__(self, inputs, outputs, activation, norm=None, bridged=False, dropout=0.0):
        super().__init__(inputs, outputs)
        self.activation = ACTIVATIONS[activation]
        self.norm = norm
        self.bridged = bridged
        self.dropout = dropout

    def forward(self, x, kept=None):
        """kept: 1 for every element that dropout keeps, 0 for the others; None: all are."""
        y = self.activation(super().forward(self.norm(x) if self.norm else x))
        if kept is not None:
            y = y * kept * (1 / (1 - self.dropout))
        return x + y if self.bridged else y


class Stack(torch.nn.Module):
    def __init__(self, sizes, activation, norm="none", residual=False, dropout=0.0):
        super().__init__()
        last = len(sizes) - 2
        self.layers = torch.nn.ModuleList(
            Layer(i, o, activation if k < last else "none",
                  NORMS[norm](i) if norm != "none" and k > 0 else None,
                  residual and i == o and k < last, dropout)
            for k, (i, o) in enumerate(zip(sizes[:-1], sizes[1:])))
        self.dropouts = [f"layers.{i}.dropout" for i in range(last)]

    def forward(self, x, masks=None):
        """masks: of every layer but the last, (rows, width); None: nothing is dropped."""
        for layer, kept in zip(self.layers, [*(masks or [None] * (len(self.layers) - 1)), None]):
            x = layer(x, kept)
        return x


def make_optimizer(model, o, **way):
    """o: the options as kolm writes them to config.json; way: how PyTorch is to compute them."""
    p = model.groups(o["weight_decay"]) if hasattr(model, "groups") else model.parameters()
    if o["optimizer"] == "sgd":
        return torch.optim.SGD(p, lr=o["lr"], weight_decay=o["weight_decay"], **way)
    if o["optimizer"] == "momentum":
        return torch.optim.SGD(p, lr=o["lr"], momentum=o["momentum"],
                               weight_decay=o["weight_decay"], **way)
    return torch.optim.AdamW(p, lr=o["lr"], betas=(o["beta1"], o["beta2"]), eps=o["eps"],
                             weight_decay=o["weight_decay"], **way)


def make_schedule(optimizer, o):
    """The learning rates of a run by PyTorch's own schedulers; step() goes behind every step."""
    from torch.optim import lr_scheduler as lrs

    warmup, behind = o.get("lr_warmup", 0), o["steps"] - 1 - o.get("lr_warmup", 0)
    kind, lowest = o.get("lr_schedule", "constant"), o.get("lr_min", 0) / max(o["lr"], 1e-30)
    if kind == "constant" or (behind == 0 and kind in ("cosine", "linear")):
        main = lrs.ConstantLR(optimizer, 1.0, 0)
    elif kind == "cosine":
        main = lrs.CosineAnnealingLR(optimizer, behind, o["lr_min"])
    elif kind == "linear":
        main = lrs.LinearLR(optimizer, 1.0, lowest, behind)
    elif kind == "step":
        main = lrs.LambdaLR(optimizer, lambda i: max(o["lr_gamma"] ** (i // o["lr_step"]), lowest))
    elif kind == "wsd":
        decay = float(o["lr_decay"])
        decay = int(decay) if decay > 1 else max(1, int(decay * o["steps"] + 0.5))
        main = lrs.LambdaLR(optimizer, lambda i: lowest + (1 - lowest) * min(1, (behind - i) / decay))
    else:
        raise ValueError(f"unknown --lr-schedule {kind}")
    if not warmup:
        return main
    first = lrs.LinearLR(optimizer, 1 / warmup, 1.0, max(warmup - 1, 1))
    return lrs.SequentialLR(optimizer, [first, main], [warmup])


def train_step(model, optimizer, x, y, micro_batches, clip=0.0, masks=None, bf16=False):
    """One optimizer step with accumulation; returns the loss over the whole batch. bf16: with
    autocast, which leaves weights and optimizer in fp32."""
    optimizer.zero_grad(set_to_none=True)
    total = 0.0
    cut = [m.chunk(micro_batches) for m in masks or []]
    for i, (xs, ys) in enumerate(zip(x.chunk(micro_batches), y.chunk(micro_batches))):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            out = model(xs, [c[i] for c in cut] if masks else None)
            if ys.dtype == torch.int64:
                loss = functional.cross_entropy(out, ys)
            else:
                loss = functional.mse_loss(out, ys)
        (loss / micro_batches).backward()
        total += loss.item() / micro_batches
    if clip > 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total
