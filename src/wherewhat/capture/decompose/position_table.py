"""The position embeddings that a model adds to its tokens, recorded as it looks them up."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn

from wherewhat.capture.capture import capture, first_device
from wherewhat.capture.hooks.module_inputs import watch_inputs
from wherewhat.capture.hooks.own_nets import attentions
from wherewhat.capture.loading.load import OTHER_MODALITIES, POSITION_TABLE
from wherewhat.capture.tokens.batch import Batch
from wherewhat.nets.trunk import Trunk


def added_rows(model: nn.Module, ids_NT: Tensor, modules: Sequence[str]) -> dict[str, Tensor]:
    """rows_TD, the position embeddings added to texts of one length, by attention module; empty if there are none.

    Where a model normalises the sum of token and position (BERT and relatives), the rows are their contribution to the
    normalised sum, averaged over these texts: norm(token + row) = weight * (centred token + centred row) / deviation +
    bias, so weight * centred row * mean(1 / deviation). Rows of a smaller width are projected as the model does it,
    without the projection's bias. Norms inside blocks are not applied: above the first layer, their input is no longer
    this sum.
    """
    count, tokens = ids_NT.shape
    if isinstance(model, Trunk):
        return _of_net(model, tokens, modules)
    lookups = _Lookups()
    batch = Batch(tuple(range(count)), ids_NT, torch.ones_like(ids_NT, dtype=torch.bool), (torch.tensor([0]),) * count)
    watching = watch_inputs(model, modules, lookups.see_input)
    with capture(model, lambda rows: None) as session, _watched(model, lookups), watching:
        session.read(batch)
    by_module = {name: lookups.rows_for(name, tokens) for name in modules}
    return {name: rows_TD for name, rows_TD in by_module.items() if rows_TD is not None}


def _of_net(net: Trunk, tokens: int, modules: Sequence[str]) -> dict[str, Tensor]:
    """What the encoding of a wherewhat net adds to tokens that are zero: in each block, or at the input."""
    blocks = {name: block for block, (name, _) in enumerate(attentions(net))}
    nothing_BTD = torch.zeros(1, tokens, net.config.width, device=first_device(net), dtype=net.tokens.weight.dtype)
    positions_BT = torch.arange(tokens, device=nothing_BTD.device)[None]
    with torch.no_grad():
        rows = [net.encoding(block).on_tokens(nothing_BTD, positions_BT, block)[0] for block in range(len(blocks))]
    by_module = {name: rows[blocks[name]] if bool(rows[blocks[name]].any()) else rows[0] for name in modules}
    return {name: rows_TD for name, rows_TD in by_module.items() if bool(rows_TD.any())}


@dataclass
class _Lookups:
    """The output of position tables, the norms and projections after them, and the width of attention inputs."""

    tables: dict[str, Tensor] = field(default_factory=dict)
    norms: dict[str, tuple[nn.LayerNorm, Tensor]] = field(default_factory=dict)  # and mean(1 / deviation)_T, by parent
    projections: list[nn.Linear] = field(default_factory=list)
    widths: dict[str, int] = field(default_factory=dict)

    def see_input(self, name: str, x_BTD: Tensor) -> None:
        self.widths.setdefault(name, x_BTD.shape[-1])

    def rows_for(self, module: str, tokens: int) -> Tensor | None:
        """The rows of the table closest to a module by name, with the width of the module's input.

        Where a norm follows, they are the contribution of the rows to the normalised sum.
        """
        whole = {name: table for name, table in self.tables.items() if table.shape[-2] == tokens}
        if not whole or module not in self.widths:
            return None
        table = max(whole, key=lambda name: _shared(name, module))
        rows_TD = whole[table]
        if _parent(table) in self.norms:
            norm, inverse_T = self.norms[_parent(table)]
            centred_TD = rows_TD - rows_TD.mean(-1, keepdim=True)
            weight_D = 1.0 if norm.weight is None else norm.weight.detach()
            rows_TD = weight_D * centred_TD * inverse_T[:, None].to(rows_TD)
        if rows_TD.shape[-1] == self.widths[module]:
            return rows_TD
        shape = (self.widths[module], rows_TD.shape[-1])
        linear = next((linear for linear in self.projections if tuple(linear.weight.shape) == shape), None)
        return None if linear is None else rows_TD @ linear.weight.T

    def see_table(self, name: str, module: nn.Module, args: object, output: Any) -> None:
        if isinstance(output, Tensor) and output.dim() >= 2:
            self.tables[name] = output.detach().reshape(-1, *output.shape[-2:])[0]

    def see_norm(self, name: str, norm: Any, args: tuple[Any, ...], output: object) -> None:
        """The first norm beside a table, before any attention there, normalises the sum of token and position."""
        x, parent = args[0] if args else None, _parent(name)
        beside = parent in map(_parent, self.tables) and parent not in self.norms
        before_attention = not any(module.startswith(parent) for module in self.widths)
        if beside and before_attention and isinstance(x, Tensor) and x.dim() == 3:
            deviation_BT = (x.detach().double().var(-1, correction=0) + norm.eps).sqrt()
            self.norms[parent] = (norm, (1 / deviation_BT).mean(0))

    def see_projection(self, module: Any, args: object, output: object) -> None:
        if self.tables:
            self.projections.append(module)


def _parent(name: str) -> str:
    """
    >>> _parent("bert.embeddings.LayerNorm"), _parent("wpe")
    ('bert.embeddings.', '')
    """
    return name[: name.rfind(".") + 1]


def _shared(first: str, second: str) -> int:
    """How many names two modules have in common from the outside in.

    >>> _shared("encoder.embed_positions", "encoder.layers.0.self_attn")
    1
    """
    pairs = zip(first.split("."), second.split("."), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


@contextmanager
def _watched(model: nn.Module, lookups: _Lookups) -> Iterator[None]:
    """Record the output of position tables, which are recognised by name, and every norm and projection."""
    with ExitStack() as cleanup, torch.no_grad():
        for name, module in model.named_modules():
            if POSITION_TABLE.search(name) and not OTHER_MODALITIES.search(name):
                cleanup.callback(module.register_forward_hook(partial(lookups.see_table, name)).remove)
            elif isinstance(module, nn.LayerNorm):
                cleanup.callback(module.register_forward_hook(partial(lookups.see_norm, name)).remove)
            elif isinstance(module, nn.Linear):
                cleanup.callback(module.register_forward_hook(lookups.see_projection).remove)
        yield
