"""Exchange two contents in one layer and see what its attention does: the ground on which logits are checked.

All families at once, for models in double precision:

    model = family.build().double()
    worst = worst_of_swaps(model, padded_batch(model))      # {place: largest difference of log weights}
    assert max(worst.values()) < rounding(torch.float64)    # in parts of the place's largest logit

One swap by hand (slots are those of the padded batch, the same for all texts):

    with replaying(model, batch, {place.module}) as replay:
        log_BHQK = replay.swapped_log_attention(place, s, t)

The module that attends is called again with what it was called with, but for rows s and t of its hidden state, which
change places; in cross-attention those of the encoder's. Position ids, mask and all else stay. Norms act on each token
by itself, so exchanging rows before or after them is the same. The family's own eager code computes the rows, and its
softmax's input is what is read, so nothing is lost where weights are tiny.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import Cache

from wherewhat.capture.capture import capture, run, with_decoder_input
from wherewhat.capture.hooks.interface import EAGER, configs_of
from wherewhat.capture.hooks.reader import AttentionRows, AttentionSite
from wherewhat.capture.tokens.batch import Batch

PAIRS = ((0, 1), (2, 4), (1, 7), (5, 6))  # slots inside a text that change places


@dataclass(frozen=True)
class Call:
    """A module, and what it was called with."""

    module: nn.Module
    args: tuple[Any, ...]
    named: dict[str, Any]

    def again(self, s: int, t: int, tokens: int) -> None:
        """The same call with contents s and t exchanged."""
        name = next((n for n in ("key_value_states", "encoder_hidden_states") if _is_tensor(self.named.get(n))), None)
        name = name or next((n for n in ("hidden_states", "h", "input") if _is_tensor(self.named.get(n))), None)
        if name is not None:
            self.module(*self.args, **{**self.named, name: _exchange(self.named[name], s, t, tokens)})
        else:
            self.module(_exchange(self.args[0], s, t, tokens), *self.args[1:], **self.named)


class Replay:
    """What the attending modules of one forward pass were called with, ready to be called again."""

    def __init__(self, tokens: int) -> None:
        self.calls: dict[str, list[Call]] = defaultdict(list)
        self._tokens = tokens

    def swapped_log_attention(self, site: AttentionSite, s: int, t: int) -> Tensor:
        """log attention_BHQK in double precision after exchanging s and t; with s == t, as it was.

        Of a sink that takes part in the softmax only the differences between keys remain, which are right.
        """
        calls = self.calls[site.module]
        call = calls[0] if len(calls) == 1 else calls[site.ordinal]  # one module may serve all layers
        with torch.no_grad(), _Listening() as listening:
            call.again(s, t, self._tokens)
        (logits_BHQK,) = listening.heard
        return logits_BHQK.double().log_softmax(-1)[..., : self._tokens]


@contextmanager
def replaying(model: Any, batch: Batch, modules: Iterable[str]) -> Iterator[Replay]:
    """Run the model once, as capture does, with its eager attention, and note what these modules are called with."""
    replay = Replay(batch.ids_BT.shape[1])
    batch = with_decoder_input(model, batch)
    with ExitStack() as put_back:
        for config in configs_of(model):
            if config._attn_implementation == EAGER:
                continue  # the model is being edited: what we call eager calls the family's own
            put_back.callback(setattr, config, "_attn_implementation_internal", config._attn_implementation)
            config._attn_implementation_internal = "eager"
        with ExitStack() as unhook, torch.no_grad():
            for name in sorted(set(modules)):
                hook = partial(_note, replay.calls[name])
                unhook.callback(model.get_submodule(name).register_forward_pre_hook(hook, with_kwargs=True).remove)
            run(model, batch)
        yield replay


def worst_of_swaps(model: Any, batch: Batch, pairs: Sequence[tuple[int, int]] = PAIRS) -> dict[AttentionSite, float]:
    """How far log weights after a swap are from what the captured logits say, at worst, for every place.

    For every text, pair (s, t) and query i that sees both: log D'_s - log D'_t is a[t, s] - a[s, t], and
    log D'_s - log D'_u is a[t, s] - a[u, u] for every other key u. Differences are in parts of the largest logit of
    their text, because it is logits of that size which are rounded.
    """
    pieces: list[AttentionRows] = []
    with capture(model, pieces.append) as captured:
        captured.read(batch)
    worst: dict[AttentionSite, float] = {}
    with replaying(model, batch, {rows.site.module for rows in pieces}) as replay:
        for rows in pieces:
            assert rows.logits is not None, f"{rows.site} has no logits: {captured._reader.undecomposed.get(rows.site)}"
            apart = [_apart(rows, replay, batch, pair) for pair in pairs if max(pair) < len(rows.tokens_K)]
            found = [one for one in apart if one is not None]
            assert found, f"no query of text {rows.text} sees both contents of any pair at {rows.site}"
            size = float(rows.logits.actual_HQK[:, rows.allowed_QK].abs().max())
            worst[rows.site] = max(worst.get(rows.site, 0.0), max(found) / size)
    return worst


def _apart(rows: AttentionRows, replay: Replay, batch: Batch, pair: tuple[int, int]) -> float | None:
    """The worst of one pair over all queries of a text; None if none sees both."""
    first, stop = batch.span(batch.texts.index(rows.text))
    s, t = pair
    log_BHTT = replay.swapped_log_attention(rows.site, first + s, first + t)
    log_HTK = log_BHTT[batch.texts.index(rows.text), :, first:stop, first:stop]
    found = None
    for row, query in enumerate(rows.queries_Q.tolist()):
        moves_query = query in pair and rows.site.part != "cross"
        if not moves_query and bool(rows.allowed_QK[row, [s, t]].all()):
            found = max(found or 0.0, _apart_in_row(rows, row, log_HTK[:, query], pair))
    return found


def _apart_in_row(rows: AttentionRows, row: int, log_HK: Tensor, pair: tuple[int, int]) -> float:
    assert rows.logits is not None
    s, t = pair
    swapped_S = torch.tensor(pair)
    table_HKS = rows.logits.table(row, swapped_S, swapped_S).double()
    expected_HK = rows.logits.actual_HQK[:, row].double().clone()
    expected_HK[:, s], expected_HK[:, t] = table_HKS[:, 1, 0], table_HKS[:, 0, 1]
    difference_HK = (log_HK - log_HK[:, s, None]) - (expected_HK - expected_HK[:, s, None])
    return float(difference_HK[:, rows.allowed_QK[row]].abs().max())


class _Listening(TorchFunctionMode):
    """Keeps the input of every softmax over keys."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") == "softmax":
            logits = args[0] if args else kwargs["input"]
            if logits.dim() == 4:
                self.heard.append(logits)
        return func(*args, **kwargs)


def _note(calls: list[Call], module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    calls.append(Call(module, tuple(_own(arg) for arg in args), {name: _own(value) for name, value in named.items()}))


def _own(value: Any) -> Any:
    """A copy, in case the layer goes on to change it in place; nothing of a cache, which would grow."""
    if isinstance(value, Cache):
        return None
    return value.clone() if _is_tensor(value) else value


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _exchange(hidden: Tensor, s: int, t: int, tokens: int) -> Tensor:
    """Rows s and t change places, in a hidden state of texts by tokens or (XLNet) of tokens by texts."""
    order = torch.arange(tokens)
    order[[s, t]] = order[[t, s]]
    return hidden.index_select(1 if hidden.shape[1] == tokens else 0, order)
