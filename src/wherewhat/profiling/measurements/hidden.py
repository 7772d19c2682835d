"""The walk for models whose position sits in the hidden state: both ways of looking inside, one after the other."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.profiling.accumulate import Resampling, Summary, each_alone
from wherewhat.profiling.hidden_states.means import take_means
from wherewhat.profiling.hidden_states.moving import move_tokens, published
from wherewhat.profiling.hidden_states.run import Progress, Run, summaries
from wherewhat.scores import input_level, mean_parts
from wherewhat.scores.input_level import SHARES
from wherewhat.scores.swaps import PUBLISHED


@dataclass(frozen=True)
class Hidden:
    """What came of it, ready for the tables and the manifest."""

    answers: dict[AttentionSite, dict[str, Summary]]
    scores: dict[str, dict[str, Any]]  # how to read each score
    layers: list[dict[str, Any]]  # what slot, text and neither explain of each layer's input
    notes: list[str]

    def only(self, names: Collection[str]) -> "Hidden":
        """Some of the scores."""
        answers = {
            site: {name: found for name, found in by_name.items() if name in names}
            for site, by_name in self.answers.items()
        }
        return replace(self, answers=answers, scores={name: self.scores[name] for name in self.scores if name in names})


def measure_hidden(
    model: LoadedModel,
    ids: Sequence[Tensor],
    *,
    taus: tuple[float, ...],
    first: int,
    seed: int,
    batch_tokens: int,
    resampling: Resampling | None = None,
    on_text: Progress | None = None,
) -> Hidden:
    """Ask of every head what of its attention comes from position, where position is not in the logits' form."""
    run = Run(model, ids, taus, first, seed, batch_tokens, resampling or each_alone(len(ids), seed))
    moved = move_tokens(run, on_text)
    means = take_means(run, moved.sites)
    answers = {site: summaries((moved.accounts, means.accounts), site, run) for site in moved.sites}
    return Hidden(
        answers={site: found for site, found in answers.items() if found},
        scores=_about(run, {name for found in answers.values() for name in found}),
        layers=means.layers(moved.sites),
        notes=[*moved.notes(run), *means.notes(run, moved.sites)],
    )


def _about(run: Run, names: set[str]) -> dict[str, dict[str, Any]]:
    """How to read the scores that have answers."""
    told: dict[str, dict[str, Any]] = {}
    for name in [*SHARES, *(name for tau in run.taus for name in published(tau))]:
        told[name] = {**input_level.ABOUT[name.partition("@")[0]], "range": [0.0, 1.0], "sides": False}
        if not name.endswith("share"):
            told[name]["tau"] = name.partition("@")[2] or f"{PUBLISHED:g}"
    told |= {name: {**about, "range": [-1.0, 1.0], "sides": False} for name, about in mean_parts.ABOUT.items()}
    return {name: about for name, about in told.items() if name in names}
