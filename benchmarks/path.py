"""Attention through reflections, block by block, beside token by token and beside plain fused attention."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize, scaled_dot_product_attention

from benchmarks.measurement import Measurement, side_by_side
from wherewhat.encodings.householder import Reflections, blockwise, recurrent

LENGTH, HEADS, CHANNELS, CHUNK = 1024, 8, 64, 64
Inputs = tuple[Tensor, Tensor, Tensor, Reflections]


def measure(repeats: int) -> Iterator[Measurement]:
    """Forward against the definition; forward, and learning, against a fused kernel without position; one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the many small steps of both would measure how busy the machine is
    try:
        for name, gate in (("path", False), ("path_fox", True)):
            yield _against_definition(name, inputs(gate=gate), repeats)
            yield _against_fused(name, inputs(gate=gate), repeats)
            yield _learning_against_fused(name, inputs(gate=gate), repeats)
    finally:
        torch.set_num_threads(threads)


def inputs(*, gate: bool) -> Inputs:
    """One text: queries that are scaled already, keys, values and reflections of every strength."""
    generator = torch.Generator().manual_seed(0)
    q, k, v, w = (torch.randn(1, HEADS, LENGTH, CHANNELS, generator=generator) for _ in range(4))
    beta = 2 * torch.rand(1, HEADS, LENGTH, generator=generator)
    log_forget = logsigmoid(torch.randn(1, HEADS, LENGTH, generator=generator)) if gate else None
    return q * CHANNELS**-0.5, k, v, Reflections(normalize(w, dim=-1), beta, log_forget)


def _against_definition(name: str, given: Inputs, repeats: int) -> Measurement:
    with torch.no_grad():
        apart = float((_blockwise(given) - recurrent(*given)).abs().max())
        pairs = side_by_side(lambda: _blockwise(given), lambda: recurrent(*given), repeats=repeats)
    ratios = tuple(slow / quick for quick, slow in pairs)
    title = f"{name}, n = {LENGTH:,}: times faster than token by token"
    return Measurement(title, ratios, 10, at_least=True, note=f"answers {apart:.0e} apart")


def _against_fused(name: str, given: Inputs, repeats: int) -> Measurement:
    with torch.no_grad():
        pairs = side_by_side(lambda: _blockwise(given), lambda: _fused(given), repeats=repeats)
    return Measurement(f"{name}, n = {LENGTH:,}: time over fused attention", tuple(a / b for a, b in pairs))


def _learning_against_fused(name: str, given: Inputs, repeats: int) -> Measurement:
    ours, theirs = _learning(_blockwise, given), _learning(_fused, given)
    ratios = tuple(a / b for a, b in side_by_side(ours, theirs, repeats=repeats))
    return Measurement(f"{name}, n = {LENGTH:,}: time over fused, forward and backward", ratios)


def _blockwise(given: Inputs) -> Tensor:
    return blockwise(*given, chunk=CHUNK, real_BK=None)


def _fused(given: Inputs) -> Tensor:
    q, k, v, _ = given
    return scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)


def _learning(attend: Callable[[Inputs], Tensor], given: Inputs) -> Callable[[], None]:
    q, k, v, reflections = given
    for each in (q, k, v, *vars(reflections).values()):
        if each is not None:
            each.requires_grad_()

    def run() -> None:
        attend(given).sum().backward()

    return run
