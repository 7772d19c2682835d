"""Every encoding against no position at all: a training step, a forward pass, and the memory of both.

The net is a small decoder, the same for all; what is compared is what a change of encoding costs. When they are to be
recorded, the figures go to encodings.json, from which the table in docs/encodings.md is made.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from benchmarks.measurement import Measurement, side_by_side
from benchmarks.memory import fitting
from wherewhat.encodings.base import Encoding
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk

WIDTH, LAYERS, HEADS, VOCABULARY, TOKENS = 256, 2, 8, 256, 2048
LENGTHS = (512, 2048)
Row = dict[str, Any]
FILE = Path(__file__).parent / "encodings.json"
ADDED, TURNED = 1.1, 1.25  # what a training step may cost beside none: adding to tokens, turning queries and keys


def measure(repeats: int) -> Iterator[Measurement]:
    """The training step at n = 512 of every encoding, with a bound where attention stays fused and unbiased."""
    torch.set_flush_denormal(True)  # as the training loop does
    for name in ENCODINGS:
        row = _row(name, repeats)
        yield Measurement(_title(name), tuple(row["training 512"]), bound_of(name), figures=row)


def figures(found: Sequence[Measurement], repeats: int) -> str:
    """What encodings.json holds: the figures of every encoding, and the conditions that they were taken under."""
    conditions = {"width": WIDTH, "layers": LAYERS, "heads": HEADS, "tokens": TOKENS, "repeats": repeats}
    conditions |= {"threads": torch.get_num_threads(), "torch": torch.__version__}
    by_title = {measurement.name: measurement.figures for measurement in found}
    rows = {name: by_title[_title(name)] for name in ENCODINGS}
    return json.dumps({"conditions": conditions, "encodings": rows}, indent=1) + "\n"


def _title(name: str) -> str:
    return f"training step with {name}, n = 512: over none"


def bound_of(name: str) -> float | None:
    """What a training step may cost beside one without position; None where the kernel is another."""
    record = ENCODINGS[name]
    turns = record.cls.on_query_key is not Encoding.on_query_key
    return None if record.kernel != "fused" else TURNED if turns else ADDED


def net_of(name: str, length: int) -> Trunk:
    """The decoder with this encoding."""
    sizes = {"vocabulary": VOCABULARY, "width": WIDTH, "layers": LAYERS, "heads": HEADS, "length": length}
    return build(NetConfig(**sizes, encoding=name))


def _row(name: str, repeats: int) -> Row:
    """Parameters; ratios to no position, of seconds of both kinds at both lengths; bytes at the longer one."""
    learned = sum(each.numel() for each in net_of(name, TOKENS).encodings.parameters())
    row: Row = {"parameters": learned}
    for length in LENGTHS:
        for kind, work in (("training", training), ("forward", forward)):
            ours, none = work(name, length), work("none", length)
            pairs = side_by_side(ours, none, repeats=repeats)
            row[f"{kind} {length}"] = sorted(ours / none for ours, none in pairs)
    for kind in ("training", "forward"):
        row[f"{kind} bytes"] = fitting(partial(once, kind, name), TOKENS)
    return row


def once(kind: str, name: str, length: int) -> None:
    """One piece of work, for a process of its own."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    {"training": training, "forward": forward}[kind](name, length)()


def training(name: str, length: int) -> Callable[[], None]:
    """A training step over the same number of tokens, whatever the length."""
    net, ids_BT = net_of(name, length), _ids(length)
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def run() -> None:
        optimiser.zero_grad()
        cross_entropy(net(ids_BT)[:, :-1].flatten(0, 1), ids_BT[:, 1:].flatten()).backward()
        optimiser.step()

    return run


def forward(name: str, length: int) -> Callable[[], None]:
    """A forward pass without gradients."""
    net, ids_BT = net_of(name, length).eval(), _ids(length)

    def run() -> None:
        with torch.no_grad():
            net(ids_BT)

    return run


def _ids(length: int) -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (TOKENS // length, length), generator=torch.Generator().manual_seed(0))
