"""The linear stack, its loss and its optimizers in PyTorch, as kolm defines them."""
import torch


class Stack(torch.nn.Module):
    def __init__(self, sizes, activation):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(i, o) for i, o in zip(sizes[:-1], sizes[1:]))
        self.activation = {"relu": torch.relu, "gelu": torch.nn.functional.gelu,
                           "none": lambda x: x}[activation]

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


def make_optimizer(model, o):
    """o: the options as kolm writes them to config.json."""
    p = model.parameters()
    if o["optimizer"] == "sgd":
        return torch.optim.SGD(p, lr=o["lr"], weight_decay=o["weight_decay"])
    if o["optimizer"] == "momentum":
        return torch.optim.SGD(p, lr=o["lr"], momentum=o["momentum"],
                               weight_decay=o["weight_decay"])
    return torch.optim.AdamW(p, lr=o["lr"], betas=(o["beta1"], o["beta2"]), eps=o["eps"],
                             weight_decay=o["weight_decay"])


def train_step(model, optimizer, x, y, micro_batches, clip=0.0):
    """One optimizer step with accumulation; returns the loss over the whole batch."""
    optimizer.zero_grad()
    total = 0.0
    for xs, ys in zip(x.chunk(micro_batches), y.chunk(micro_batches)):
        out = model(xs)
        if ys.dtype == torch.int64:
            loss = torch.nn.functional.cross_entropy(out, ys)
        else:
            loss = torch.nn.functional.mse_loss(out, ys)
        (loss / micro_batches).backward()
        total += loss.item() / micro_batches
    if clip > 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total
