"""The manifest of a sweep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wherewhat.tables.manifest.sections import Count, Manifest


@dataclass(frozen=True, kw_only=True)
class FailureSection:
    """A run without a result, and why."""

    run: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class SweepManifest(Manifest):
    """Which recipe was trained at which points, how the runs ended, and which failed."""

    kind: str = "sweep"

    recipe: str | None = None
    over: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by field, its values in order
    seeds: Sequence[int] = ()
    measure: str = "accuracy"  # what the runs are compared by
    status: Mapping[str, Count] = field(default_factory=dict)  # how many runs are done, begun, failed, waiting
    failures: Sequence[FailureSection] = ()
    samples: Mapping[str, Count] = field(default_factory=dict)  # by measure, how many test samples it is a share of
    chance: Mapping[str, float] = field(default_factory=dict)  # by measure, what guessing gives
    workers: Count | None = None  # runs at once
