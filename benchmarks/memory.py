"""Peak memory of a profile, each side in its own process, against the plain forward and against eager attention."""

import multiprocessing
import re
import resource
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from benchmarks.heads import forward, llama, texts
from benchmarks.measurement import Measurement

LIMIT = 20 << 30  # bytes that a process may ask for: a machine that starts to swap measures nothing


def measure(repeats: int) -> Iterator[Measurement]:
    """At n = 1,024 against the plain forward; at n = 8,192 against `output_attentions`, which may not fit."""
    pairs = [(fitting(_profile, 1024), fitting(_forward, 1024)) for _ in range(repeats)]
    ratios = tuple(ours / theirs for ours, theirs in pairs)
    apart = max(ours - theirs for ours, theirs in pairs) / 2**20
    note = f"whole process; at most {apart:.0f} MiB more"
    yield Measurement("peak memory of heads, n = 1,024: over plain fused forward", ratios, 1.25, note=note)
    ours = [fitting(_profile, 8192) for _ in range(min(repeats, 3))]
    theirs = _peak(_eager, 8192)
    note = f"ours {max(ours) / 2**30:.2f} GiB"
    if theirs is None:
        theirs = 8 * 8 * 8192 * 8192 * 4  # the attention it has to return, in float32, and nothing else
        note += f"; eager did not fit into {LIMIT >> 30} GiB, so against the {theirs / 2**30:.1f} GiB it has to return"
    else:
        note += f", eager {theirs / 2**30:.2f} GiB"
    ratios = tuple(peak / theirs for peak in ours)
    yield Measurement("peak memory of heads, n = 8,192: over eager attention", ratios, 0.1, note=note)


def _profile(length: int) -> None:
    from wherewhat.profiling.profile import profile

    profile(llama(length), texts(length)[:2], max_tokens=length, untrained=False)


def _forward(length: int) -> None:
    import wherewhat.profiling.profile  # noqa: F401  # both sides hold the same code

    forward(llama(length), texts(length)[:2])


def _eager(length: int) -> None:
    model = llama(length)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        model(texts(length)[0][None], use_cache=False, output_attentions=True)


def fitting(work: Callable[[int], None], length: int) -> int:
    """The peak of work that has to fit."""
    peak = _peak(work, length)
    assert peak is not None, f"{work} at n = {length} did not fit into {LIMIT >> 30} GiB"
    return peak


def _peak(work: Callable[[int], None], length: int) -> int | None:
    """The most memory that a fresh process held while it worked, or None if it did not fit."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_report, args=(theirs, work, length))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return None  # killed for its hunger
    finally:
        process.join()


def _report(pipe: Connection, work: Callable[[int], None], length: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    try:
        work(length)
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error).lower():
            raise
        pipe.send(None)
        return
    pipe.send(_most_held())


def _most_held() -> int:
    """Bytes. Linux counts what a process held before it became this one among `ru_maxrss`, so it is asked elsewhere."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
