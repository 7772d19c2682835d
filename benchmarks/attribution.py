"""A whole attribution against a plain forward and backward pass of the same model over the same texts."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.measurement import Measurement, side_by_side
from benchmarks.memory import fitting
from wherewhat.attribution.attribute import attribute, open_model
from wherewhat.capture.loading.load import LoadedModel

LENGTH, TEXTS, VOCABULARY = 512, 2, 1000
TIME, MEMORY = 4.0, 1.5  # bounds
METHODS = ("pa-lrp", "attnlrp", "cp-lrp")


def measure(repeats: int) -> Iterator[Measurement]:
    """Time on one thread, and peak memory in processes of their own, with fused and with eager attention."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for method in METHODS:
            bound = TIME if method == METHODS[0] else None
            yield _time(f"attribute, {method}", method, "sdpa", repeats, bound)
        yield _time("attribute, eager attention", METHODS[0], "eager", repeats, None)
    finally:
        torch.set_num_threads(threads)
    for attention in ("sdpa", "eager"):
        yield _memory(attention, repeats)


def llama(attention: str) -> LlamaForCausalLM:
    """8 layers × 8 heads, width 512, random weights."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=8,
        num_attention_heads=8,
        max_position_embeddings=LENGTH,
    )
    return LlamaForCausalLM._from_config(config, attn_implementation=attention).eval()


def texts(count: int) -> Sequence[Tensor]:
    """Random token ids."""
    return torch.randint(VOCABULARY, (count, LENGTH), generator=torch.Generator().manual_seed(1)).unbind()


def explained(model: LoadedModel, ids: Sequence[Tensor], method: str) -> Callable[[], None]:
    """Attribute the next token of every text."""

    def run() -> None:
        for ids_T in ids:
            attribution = attribute(model, ids_T, method=method)
            assert attribution.ledger is not None and attribution.ledger.balances()

    return run


def plain(model: LoadedModel, ids: Sequence[Tensor]) -> Callable[[], None]:
    """The gradient of the likeliest next token with respect to the embeddings."""
    module = model.module.requires_grad_(False)

    def run() -> None:
        for ids_T in ids:
            x_BTD = module.get_input_embeddings()(ids_T[None]).requires_grad_()
            mask_BT = torch.ones_like(ids_T[None])
            module(inputs_embeds=x_BTD, attention_mask=mask_BT, use_cache=False).logits[0, -1].max().backward()

    return run


def _time(name: str, method: str, attention: str, repeats: int, bound: float | None) -> Measurement:
    model, ids = open_model(llama(attention)), texts(TEXTS)
    pairs = side_by_side(explained(model, ids, method), plain(model, ids), repeats=repeats)
    ratios = tuple(ours / theirs for ours, theirs in pairs)
    note = f"{min(ours for ours, _ in pairs) / TEXTS:.2g} s per text"
    return Measurement(f"{name}, n = {LENGTH}: time over forward and backward", ratios, bound, note=note)


def _memory(attention: str, repeats: int) -> Measurement:
    ours = [fitting(_explained_once if attention == "sdpa" else _explained_eager, LENGTH) for _ in range(repeats)]
    theirs = [fitting(_plain_once if attention == "sdpa" else _plain_eager, LENGTH) for _ in range(repeats)]
    ratios = tuple(mine / other for mine, other in zip(ours, theirs, strict=True))
    note = f"whole process; {max(ours) / 2**20:.0f} MiB over {max(theirs) / 2**20:.0f} MiB"
    name = f"peak memory of attribute, {attention} attention, n = {LENGTH}: over forward and backward"
    return Measurement(name, ratios, MEMORY if attention == "sdpa" else None, note=note)


def _explained_once(length: int) -> None:
    explained(open_model(llama("sdpa")), texts(1), "pa-lrp")()


def _plain_once(length: int) -> None:
    plain(open_model(llama("sdpa")), texts(1))()


def _explained_eager(length: int) -> None:
    explained(open_model(llama("eager")), texts(1), "pa-lrp")()


def _plain_eager(length: int) -> None:
    plain(open_model(llama("eager")), texts(1))()
