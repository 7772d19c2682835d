"""What a model adds to its tokens to say where they stand: the rows of its table of positions, as it looks them up."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.capture.capture import capture, first_device
from wherewhat.capture.editing.own_nets import attentions
from wherewhat.capture.hooks.watch_inputs import watch_inputs
from wherewhat.capture.loading.load import OTHER_SENSES, POSITION_TABLE
from wherewhat.capture.tokens.batch import Batch
from wherewhat.nets.trunk import Trunk


def added_rows(model: nn.Module, ids_NT: Tensor, modules: Sequence[str]) -> dict[str, Tensor]:
    """rows_TD that texts of one length get added, by the attention module that reads them; empty if there are none.

    Where a model norms the sum of token and position (BERT and its kind), the rows are what they bring to the normed
    sum, in the mean over these texts: norm(token + row) = weight * (centred token + centred row) / deviation + bias,
    so weight * centred row * mean(1 / deviation). Rows that a model keeps in a smaller space come as its projection
    makes them, without the projection's bias. Norms inside of blocks are not applied: what they read above the first
    layer is no longer this sum.
    """
    count, tokens = ids_NT.shape
    if isinstance(model, Trunk):
        return _of_net(model, tokens, modules)
    seen = _Lookups()
    batch = Batch(tuple(range(count)), ids_NT, torch.ones_like(ids_NT, dtype=torch.bool), (torch.tensor([0]),) * count)
    watching = watch_inputs(model, modules, seen.see_input)
    with capture(model, lambda rows: None) as captured, _watched(model, seen), watching:
        captured.read(batch)
    found = {name: seen.rows_for(name, tokens) for name in modules}
    return {name: rows_TD for name, rows_TD in found.items() if rows_TD is not None}


def _of_net(net: Trunk, tokens: int, modules: Sequence[str]) -> dict[str, Tensor]:
    """What an encoding of ours adds to tokens that are zero: at a block of its own, or where tokens enter."""
    blocks = {name: block for block, (name, _) in enumerate(attentions(net))}
    nothing_BTD = torch.zeros(1, tokens, net.config.width, device=first_device(net), dtype=net.tokens.weight.dtype)
    positions_BT = torch.arange(tokens, device=nothing_BTD.device)[None]
    with torch.no_grad():
        rows = [net.encoding(block).on_tokens(nothing_BTD, positions_BT, block)[0] for block in range(len(blocks))]
    found = {name: rows[blocks[name]] if bool(rows[blocks[name]].any()) else rows[0] for name in modules}
    return {name: rows_TD for name, rows_TD in found.items() if bool(rows_TD.any())}


@dataclass
class _Lookups:
    """What tables of positions gave, the norms and projections that ran after them, and how wide attention reads."""

    tables: dict[str, Tensor] = field(default_factory=dict)
    norms: dict[str, tuple[nn.LayerNorm, Tensor]] = field(default_factory=dict)  # and mean(1 / deviation)_T, by parent
    projections: list[nn.Linear] = field(default_factory=list)
    widths: dict[str, int] = field(default_factory=dict)

    def see_input(self, name: str, x_BTD: Tensor) -> None:
        self.widths.setdefault(name, x_BTD.shape[-1])

    def rows_for(self, module: str, tokens: int) -> Tensor | None:
        """The rows of the table nearest to a module, as wide as what the module reads."""
        whole = {name: table for name, table in self.tables.items() if table.shape[-2] == tokens}
        if not whole or module not in self.widths:
            return None
        table = max(whole, key=lambda name: _shared(name, module))
        rows_TD = self._normed(table, whole[table])
        if rows_TD.shape[-1] == self.widths[module]:
            return rows_TD
        shape = (self.widths[module], rows_TD.shape[-1])
        linear = next((one for one in self.projections if tuple(one.weight.shape) == shape), None)
        return None if linear is None else rows_TD @ linear.weight.T

    def see_norm(self, name: str, norm: nn.LayerNorm, x: Tensor) -> None:
        """The first norm beside a table, before any attention there, is that of the sum of token and position."""
        parent = _parent(name)
        beside = parent in map(_parent, self.tables) and parent not in self.norms
        if beside and x.dim() == 3 and not any(module.startswith(parent) for module in self.widths):
            deviation_BT = (x.detach().double().var(-1, correction=0) + norm.eps).sqrt()
            self.norms[parent] = (norm, (1 / deviation_BT).mean(0))

    def _normed(self, table: str, rows_TD: Tensor) -> Tensor:
        """What rows bring to the sum that was normed; the rows as they are where none was."""
        if _parent(table) not in self.norms:
            return rows_TD
        norm, inverse_T = self.norms[_parent(table)]
        centred_TD = rows_TD - rows_TD.mean(-1, keepdim=True)
        weight_D = 1.0 if norm.weight is None else norm.weight.detach()
        return weight_D * centred_TD * inverse_T[:, None].to(rows_TD)


def _parent(name: str) -> str:
    """
    >>> _parent("bert.embeddings.LayerNorm"), _parent("wpe")
    ('bert.embeddings.', '')
    """
    return name[: name.rfind(".") + 1]


def _shared(one: str, other: str) -> int:
    """How many names two modules have in common from the outside in.

    >>> _shared("encoder.embed_positions", "encoder.layers.0.self_attn")
    1
    """
    pairs = zip(one.split("."), other.split("."), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


@contextmanager
def _watched(model: nn.Module, seen: _Lookups) -> Iterator[None]:
    """Listen to the tables of positions, which are found by their names, and to every norm and projection."""
    with ExitStack() as put_back, torch.no_grad():
        for name, module in model.named_modules():
            if POSITION_TABLE.search(name) and not OTHER_SENSES.search(name):
                put_back.callback(module.register_forward_hook(partial(_note_table, seen, name)).remove)
            elif isinstance(module, nn.LayerNorm):
                put_back.callback(module.register_forward_hook(partial(_note_norm, seen, name)).remove)
            elif isinstance(module, nn.Linear):
                put_back.callback(module.register_forward_hook(partial(_note_projection, seen)).remove)
        yield


def _note_table(seen: _Lookups, name: str, module: nn.Module, args: object, output: Any) -> None:
    if isinstance(output, Tensor) and output.dim() >= 2:
        seen.tables[name] = output.detach().reshape(-1, *output.shape[-2:])[0]


def _note_norm(seen: _Lookups, name: str, module: nn.Module, args: tuple[Any, ...], output: object) -> None:
    if args and isinstance(args[0], Tensor) and isinstance(module, nn.LayerNorm):
        seen.see_norm(name, module, args[0])


def _note_projection(seen: _Lookups, module: nn.Module, args: object, output: object) -> None:
    if seen.tables and isinstance(module, nn.Linear):
        seen.projections.append(module)
