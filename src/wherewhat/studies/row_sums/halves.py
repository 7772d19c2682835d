"""What nets of the even task know without solving it: which half a slot is in, and about where its answer stands.

Torch-free, as it is of the page.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from wherewhat.formatting import count, listed, percent, tenths
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.row_sums.names import DISTANCE, FILLER, FIRST_HALF, SOLVED, accuracy, name_of
from wherewhat.tables.manifest.study import LongAnswer

RARE = 0.05  # the share of answers below which they are nearly never the filler


@dataclass(frozen=True)
class Halves:
    """The shares of answers that are the filler, in every slot of each half and net, and how far others are off."""

    first: Sequence[float]
    second: Sequence[float]
    distances: Sequence[float]

    @property
    def filler_everywhere(self) -> bool:
        """Whether nearly all answers are the filler, in both halves."""
        return min(*self.first, *self.second) > 1 - RARE

    @property
    def apart(self) -> bool:
        """Whether the filler is nearly never the answer in the first half, and nearly always in the second."""
        return max(self.first) < RARE and min(self.second) > 1 - RARE


def halves_of(table: ResultTable, tokens: int, name: str) -> Halves | None:
    """What an encoding answers in the even task, over all seeds; None if it was not measured."""
    subject = name_of("even", name)
    filler, off = (table.where(part=each.part, subject=subject, measure=each.measure) for each in (FILLER, DISTANCE))
    first = pl.col("at") < tokens // 2
    ours = Halves(*(rows["value"].to_list() for rows in (filler.filter(first), filler.filter(~first), off)))
    return ours if ours.first and ours.second else None


def unsolved(table: ResultTable, tokens: int, names: Sequence[str]) -> dict[str, Halves]:
    """By encoding that does not solve the first half of the even task, what it answers."""
    shares = {name: table.value(name_of("even", name), accuracy(FIRST_HALF)) for name in names}
    known = {name: halves_of(table, tokens, name) for name, share in shares.items() if share <= SOLVED}
    return {name: halves for name, halves in known.items() if halves}


def filler_sentence(table: ResultTable, tokens: int, names: Sequence[str]) -> str:
    """Which encodings do not tell the halves apart, and what they answer; empty if there are none."""
    same = [name for name, halves in unsolved(table, tokens, names).items() if halves.filler_everywhere]
    if not same:
        return ""
    return (
        f"Nets that do not tell the halves apart ({', '.join(same)}) lie below this guess: they answer with the filler "
        "everywhere, which is wrong in all of the first half and right in all of the second."
    )


def halves_answer(table: ResultTable, tokens: int, names: Sequence[str]) -> LongAnswer:
    """What encodings know that tell the halves apart without solving the first; empty if there are none."""
    apart = {name: halves for name, halves in unsolved(table, tokens, names).items() if halves.apart}
    if not apart:
        return LongAnswer()
    tell = "tells" if len(apart) == 1 else "tell"
    return LongAnswer(
        lead=f"In the even task, {listed(list(apart))} {tell} the halves apart without solving the first",
        rest=" ".join(
            sentence for name, halves in apart.items() for sentence in sentences(table, tokens, name, halves)
        ),
    )


def sentences(table: ResultTable, tokens: int, name: str, halves: Halves) -> Iterator[str]:
    """What one encoding answers in each half, and how far its answers are from the right token."""
    least = min(halves.second)
    yield (
        f"With {name}, the filler is at most {tenths(max(halves.first))} % of the answers in any slot of the first "
        f"half, and {'all of them' if least == 1 else f'at least {tenths(least)} %'} in every slot of the second."
    )
    right = table.where(part="slot", subject=name_of("even", name), measure="accuracy", seed=None).sort("at")
    shares = right["value"].to_list()[: tokens // 2]
    last = len(shares) > 1 and shares[-1] > SOLVED  # the last slot of the half, as its answer is the last token
    if last:
        yield f"In the slot whose answer is the last token, {percent(shares.pop())} of answers are right."
    off = round(max(halves.distances))
    most = f"a token at most {count(off, 'slot')} from the right one" if off else "the right token"
    yield (
        f"In {'the other' if last else 'all'} slots of the first half, {percent(min(shares))} to "
        f"{percent(max(shares))} of answers are right, and the most frequent answer is {most}."
    )
