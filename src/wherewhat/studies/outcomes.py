"""Every run of a study once: from its file if it was finished before, else in a process of its own, and then kept."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from wherewhat.studies.base import Order
from wherewhat.studies.finished import Outcome, Row, finished_in
from wherewhat.studies.side_by_side import Work, side_by_side


class Runnable(Protocol):
    """One run of a study, as it is kept and followed."""

    @property
    def name(self) -> str:
        """What the run is called where its outcome is kept."""

    @property
    def steps(self) -> int:
        """How far it is to go."""

    def plain(self) -> dict[str, Any]:
        """Everything that decides its outcome, ready for JSON."""


Job = TypeVar("Job", bound=Runnable)
Timed = tuple[list[Row], float]  # the rows of a run, and how many seconds it took


def all_outcomes(
    work: Work[Job, Timed], jobs: Sequence[Job], order: Order, *, code: str, workers: int | None = None
) -> list[Outcome]:
    """What every run gave. `code` is a hash of all that decides it; runs that other code finished are refused."""
    kept = finished_in(order.folder, code)
    kept.begin(overwrite=order.overwrite, resume=order.resume)
    settings = [job.plain() for job in jobs]
    given = {
        number: found
        for number, (job, plain) in enumerate(zip(jobs, settings, strict=True))
        if (found := kept.outcome(job.name, plain)) is not None
    }
    left = [number for number in range(len(jobs)) if number not in given]

    def on_done(place: int, timed: Timed) -> None:
        found = given[left[place]] = Outcome(*timed)
        kept.keep(jobs[left[place]].name, settings[left[place]], found)

    to_do = [jobs[number] for number in left]
    ready = sum(jobs[number].steps for number in given)
    side_by_side(work, to_do, on_progress=_progress(to_do, ready, order), on_done=on_done, workers=workers)
    return [given[number] for number in range(len(jobs))]


def _progress(jobs: Sequence[Runnable], ready: int, order: Order) -> Callable[[int, int], None]:
    """Tell how far all runs have come together, and which are under way."""
    far, whole = [0] * len(jobs), ready + sum(job.steps for job in jobs)

    def on_progress(place: int, step: int) -> None:
        far[place] = step
        under_way = [job.name for job, done in zip(jobs, far, strict=True) if 0 < done < job.steps]
        order.step(ready + sum(far), whole, "; ".join(under_way))

    return on_progress
