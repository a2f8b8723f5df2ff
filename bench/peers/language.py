"""The language models of kolm in PyTorch, written to be read: GPT-2 and LLaMA as kolm defines them.

Tensors have kolm's names, so that a state_dict is a file of kolm. What dropout keeps is given from
outside: model.dropouts names the masks that forward wants, in its order.
"""
import math

import torch
from torch import nn
from torch.nn import functional


class LayerNorm(nn.Module):
    """PyTorch has one without bias only from 2.1 on."""

    def __init__(self, width, eps, bias):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def rotate(x, theta):
    """x: (..., T, width). Elements i and i + width/2 of row t are turned by t * theta^(-2i/width)."""
    length, width = x.shape[-2:]
    speed = theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * speed
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :width // 2], x[..., width // 2:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Dropping(nn.Module):
    """Something with dropout inside, by masks: 1 for every element that is kept, 0 for the others."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def drop(self, x, kept):
        return x if kept is None else x * kept.reshape(x.shape).to(x.dtype) * (1 / (1 - self.p))


class Attention(Dropping):
    def __init__(self, heads, kv_heads, dim, bias, theta, p):
        super().__init__(p)
        self.heads, self.kv_heads, self.width, self.theta = heads, kv_heads, dim // heads, theta
        self.qkv = nn.Linear(dim, (heads + 2 * kv_heads) * self.width, bias)
        self.out = nn.Linear(heads * self.width, dim, bias)

    def forward(self, x, kept):
        """x: (samples, T, dim); kept: of the probabilities, (samples * T, heads, T), or None."""
        samples, length, _ = x.shape
        heads = self.qkv(x).view(samples, length, -1, self.width).transpose(1, 2)
        q, k, v = heads.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        if self.theta:
            q, k = rotate(q, self.theta), rotate(k, self.theta)
        # Every head of k and v serves as many of q, which lie side by side.
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.width)
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        probabilities = scores.masked_fill(future, -math.inf).softmax(-1)
        if kept is not None:
            kept = kept.view(samples, length, self.heads, length).transpose(1, 2)
        y = self.drop(probabilities, kept) @ v
        return self.out(y.transpose(1, 2).reshape(samples, length, -1))


class MLP(nn.Module):
    def __init__(self, dim, ffn, bias, gelu):
        super().__init__()
        self.gelu = "tanh" if gelu == "tanh" else "none"
        self.up, self.down = nn.Linear(dim, ffn, bias), nn.Linear(ffn, dim, bias)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x), approximate=self.gelu))


class GatedMLP(nn.Module):
    def __init__(self, dim, ffn):
        super().__init__()
        self.gate_up, self.down = nn.Linear(dim, 2 * ffn, False), nn.Linear(ffn, dim, False)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(functional.silu(gate) * up)


class Block(Dropping):
    def __init__(self, norm, attention, mlp, p):
        super().__init__(p)
        self.norm1, self.attention = norm(), attention
        self.norm2, self.mlp = norm(), mlp

    def forward(self, x, probabilities, attended, mapped):
        x = x + self.drop(self.attention(self.norm1(x), probabilities), attended)
        return x + self.drop(self.mlp(self.norm2(x)), mapped)


class Language(Dropping):
    def __init__(self, o, kv_heads, ffn, vocab, dim):
        """o: the options as kolm writes them to config.json; the rest is what may be "auto" there."""
        p, eps, gpt = o["dropout"], o["norm_eps"], o["model"] == "gpt"
        super().__init__(p)
        bias = gpt and not o["no_bias"]

        def norm():
            return LayerNorm(dim, eps, bias) if gpt else RMSNorm(dim, eps)

        def block():
            mlp = MLP(dim, ffn, bias, o["gelu"]) if gpt else GatedMLP(dim, ffn)
            return Block(norm, Attention(o["heads"], kv_heads, dim, bias, None if gpt else o["rope_theta"], p), mlp, p)

        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Embedding(o["context"], dim) if gpt else None
        self.blocks = nn.ModuleList(block() for _ in range(o["layers"]))
        self.norm = norm()
        self.head = None if gpt else nn.Linear(dim, vocab, False)
        self.dropouts = ["embedding.dropout"] if p else []
        for i in range(o["layers"] if p else 0):
            self.dropouts += [f"blocks.{i}.attention.probabilities", f"blocks.{i}.attention.dropout", f"blocks.{i}.mlp.dropout"]

    def forward(self, tokens, masks=None):
        """tokens: (samples, T). Returns (samples * T, vocab). masks: as self.dropouts names them,
        (samples * T, ...) each; None: nothing is dropped."""
        masks = iter(masks or [None] * (1 + 3 * len(self.blocks)))
        x = self.tokens(tokens)
        if self.positions:
            x = x + self.positions.weight
        x = self.drop(x, next(masks))
        for block in self.blocks:
            x = block(x, next(masks), next(masks), next(masks))
        head = self.head.weight if self.head else self.tokens.weight
        return functional.linear(self.norm(x), head).flatten(0, 1)

    def groups(self, decay):
        """Weights decay where they are matrices; biases and norms do not."""
        matrices = [p for p in self.parameters() if p.dim() == 2]
        vectors = [p for p in self.parameters() if p.dim() == 1]
        return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def build(tensors, o):
    """The model of a file of kolm: {name: NumPy array}."""
    vocab, dim = tensors["tokens.weight"].shape
    rows = tensors["blocks.0.attention.qkv.weight"].shape[0]
    kv_heads = (rows * o["heads"] // dim - o["heads"]) // 2
    ffn = tensors["blocks.0.mlp.down.weight"].shape[1]
    model = Language(o, kv_heads, ffn, vocab, dim)
    model.load_state_dict({n: torch.from_numpy(t) for n, t in tensors.items()})
    return model


def without_noise(tensors, o):
    """What of a run's weights can be compared. The bias of the keys adds the same to all scores of a
    query, which softmax does not see: its gradient is rounding alone, and AdamW makes whole steps of that.
    With a context of 1 there is one score, of which softmax makes 1: the bias of the queries is like it."""
    if o["optimizer"] != "adamw":
        return tensors
    tensors = dict(tensors)
    for name in [n for n in tensors if n.endswith("attention.qkv.bias")]:
        q, _, v = tensors.pop(name).reshape(3, -1)
        tensors[name + " (values)"] = v
        if o["context"] > 1:
            tensors[name + " (queries)"] = q
    return tensors
