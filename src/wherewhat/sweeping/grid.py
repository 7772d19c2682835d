"""The grid of a sweep: which settings are tried, and whether every combination of them is possible."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from wherewhat.errors import UserError
from wherewhat.training.settings import TrainingSettings, changed

SHOWN = 20  # refused points that are named per reason, and reasons; of more, only how many


@dataclass(frozen=True)
class SweepPoint:
    """One combination of values and a seed: a whole training run."""

    values: Mapping[str, str]  # by field, as they were typed
    seed: int
    settings: TrainingSettings

    @property
    def name(self) -> str:
        """What changes from point to point, such as `encoding=rope,seed=0`."""
        return ",".join(filter(None, [self.combination, f"seed={self.seed}"]))

    @property
    def combination(self) -> str:
        """The same without the seed."""
        return ",".join(f"{field}={value}" for field, value in self.values.items())


@dataclass(frozen=True)
class Grid:
    """All points of a sweep, the fields that change named last changing fastest, and every one from all seeds."""

    recipe: str
    base: TrainingSettings
    over: Mapping[str, Sequence[str]]  # by field, its values
    seeds: Sequence[int]
    points: Sequence[SweepPoint]

    @classmethod
    def of(cls, recipe: str, base: TrainingSettings, over: Mapping[str, Sequence[str]], seeds: Sequence[int]) -> "Grid":
        """Every combination; those that are impossible are refused together, before anything is run."""
        seeds = seeds or [base.seed]
        if twice := [seed for seed, count in Counter(seeds).items() if count > 1]:
            raise UserError(f"--seeds names {twice[0]} twice; name each seed once")
        points, refused = list[SweepPoint](), dict[str, list[SweepPoint]]()
        for values in product(*over.values()):
            changes = dict(zip(over, values, strict=True))
            for seed in seeds:
                try:
                    settings = changed(
                        base, [f"{field}={value}" for field, value in changes.items()] + [f"seed={seed}"]
                    )
                    points.append(SweepPoint(changes, seed, settings))
                except UserError as error:
                    refused.setdefault(error.typed, []).append(SweepPoint(changes, seed, base))
        if refused:
            raise UserError(_refusal(refused, len(points), len(seeds)))
        _refuse_twins(points)
        return cls(recipe, base, over, seeds, points)


def parse_over(texts: Sequence[str]) -> dict[str, list[str]]:
    """By field, the values to try, from texts such as `encoding=rope,alibi`; brackets hold a value with commas.

    >>> parse_over(["encoding=rope,alibi", "betas=[0.9,0.99],[0.8,0.99]"])
    {'encoding': ['rope', 'alibi'], 'betas': ['0.9,0.99', '0.8,0.99']}
    """
    over: dict[str, list[str]] = {}
    for text in texts:
        field, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not field or not values:
            raise UserError(f"--over {text} names no values; write it as field=a,b,c, such as encoding=rope,alibi")
        if field in over:
            raise UserError(f"--over names {field} twice; give all its values at once, as {field}=a,b,c")
        over[field] = _split(values)
    return check_over(over)


def check_over(over: dict[str, list[str]]) -> dict[str, list[str]]:
    """Refuse fields without values, and values that are given twice."""
    for field, values in over.items():
        if field == "seed":
            raise UserError("seeds are given by --seeds 0,1,2; leave seed out of --over")
        if not values or "" in values:
            raise UserError(f"--over {field}={','.join(values)} has an empty value; write it as {field}=a,b,c")
        if twice := [value for value, count in Counter(values).items() if count > 1]:
            raise UserError(f"--over names {field}={twice[0]} twice; name each value once")
    return over


def _split(values: str) -> list[str]:
    """The parts between commas that are in no bracket; a value in square brackets without these."""
    depth, parts = 0, [""]
    for sign in values:
        depth += (sign in "[({") - (sign in "])}")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [re.sub(r"^\[(.*)\]$", r"\1", part.strip()) for part in parts]


def _refusal(refused: Mapping[str, Sequence[SweepPoint]], possible: int, seeds: int) -> str:
    """All impossible points in one sentence, those with the same reason together."""
    count = sum(map(len, refused.values()))
    if len(refused) == 1 and not possible:
        return next(iter(refused))
    reasons = [f"{_some(_named(points, seeds))}: {reason}" for reason, points in refused.items()]
    return f"{count} of {possible + count} points are impossible, so nothing was run: {_some(reasons, '; ')}"


def _named(points: Sequence[SweepPoint], seeds: int) -> list[str]:
    """What points are called, without the seed where it is the same with every seed."""
    by_values: dict[str, list[SweepPoint]] = {}
    for point in points:
        by_values.setdefault(point.combination, []).append(point)
    names: list[str] = []
    for combination, its in by_values.items():
        names += [combination] if combination and len(its) == seeds else [point.name for point in its]
    return names


def _some(texts: Sequence[str], between: str = ", ") -> str:
    """Texts one after the other; of very many, how many more there are."""
    more = [f"and {len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return between.join([*texts[:SHOWN], *more])


def _refuse_twins(points: Sequence[SweepPoint]) -> None:
    """Two points that are the same run, such as 0.001 and 1e-3."""
    known: dict[str, SweepPoint] = {}
    for point in points:
        twin = known.setdefault(repr(point.settings.to_dict()), point)
        if twin is not point:
            raise UserError(f"{twin.name} and {point.name} are the same run; leave one of them out")
