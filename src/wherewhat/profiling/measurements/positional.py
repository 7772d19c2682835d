"""The walk of the positional part: copies of one word, explicit positions, means over texts, and what is left."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, numbered
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.profiling.accumulate import LayerScores, Resampling, Summary, each_alone, summarise
from wherewhat.profiling.positional_part.copies import Progress, prepare, read_copies
from wherewhat.profiling.positional_part.delta import find_delta
from wherewhat.profiling.positional_part.masks import mask_name, reach_of
from wherewhat.profiling.positional_part.matrix import Matrix
from wherewhat.profiling.positional_part.measures import Chances, baselines, both_ways, paired
from wherewhat.profiling.positional_part.probing import Probing as Probing
from wherewhat.profiling.positional_part.texts import contextual, cut_alike, mean_matrices
from wherewhat.profiling.positional_part.told import about, names, notes
from wherewhat.tables.schema import POSITIONAL

MOST = 64  # rows and columns of a matrix that the table holds


@dataclass(frozen=True)
class Positional:
    """What came of it, ready for the tables and the manifest."""

    answers: dict[AttentionSite, dict[str, Summary]]
    scores: dict[str, dict[str, Any]]  # how to read each score
    maps: pl.DataFrame  # the matrices, rows of positional.parquet
    layers: list[dict[str, Any]]  # of every layer and source, the mean matrix of all heads beside the mean over heads
    baselines: dict[str, Any]  # what heads that know nothing get at the same n
    notes: list[str]
    n: int = 0
    words: int = 0

    def only(self, names: Collection[str]) -> "Positional":
        """Some of the scores."""
        answers = {
            site: {name: found for name, found in by_name.items() if name in names}
            for site, by_name in self.answers.items()
        }
        return replace(
            self, answers=answers, scores={name: told for name, told in self.scores.items() if name in names}
        )

    def within(self, heads: pl.DataFrame) -> "Positional":
        """Only the layers and heads that a table has rows of; layers are told with all their heads."""
        maps = self.maps.join(heads.select("layer", "head").unique(), on=["layer", "head"], how="semi")
        kept = set(heads["layer"].to_list())
        return replace(self, maps=maps, layers=[one for one in self.layers if one["layer"] in kept])

    @property
    def told(self) -> dict[str, Any]:
        """As the manifest tells it."""
        return {"n": self.n, "words": self.words, "baselines": self.baselines, "layers": self.layers}


def nothing_measured() -> Positional:
    """What there is where nobody asked."""
    return Positional({}, {}, pl.DataFrame(schema=POSITIONAL), [], {}, [])


def measure_positional(
    model: LoadedModel,
    ids: Sequence[Tensor],
    probing: Probing,
    resampling: Resampling | None = None,
    on_text: Progress | None = None,
) -> Positional:
    """Ask of every head how local and how symmetric the positional part of its attention is, three ways."""
    probe = prepare(model, probing)
    copies = read_copies(probe, on_text)
    delta = find_delta(probe, copies.inputs)
    numbers, texts = cut_alike(ids, probe.n)
    found = {
        "identical": {site: sums.matrix() for site, sums in copies.identical.items()},
        "unmasked": {site: sums.matrix() for site, sums in copies.unmasked.items()},
        "delta": delta.matrices,
        "mean": mean_matrices(probe, texts),
    }
    beside = {source: book for source, book in found.items() if source != "unmasked"}
    accounts = contextual(probe, numbers, texts, beside)
    answers = _answers(found, accounts, resampling or each_alone(len(ids), probing.seed), probing.seed)
    layers = numbered(probe.sites)
    masks = {mask_name(reach_of(sums.allowed_TT)): sums.allowed_TT for sums in copies.identical.values()}
    under = {name: baselines(allowed_TT, probing.seed) for name, allowed_TT in masks.items() if name}
    return Positional(
        answers=answers,
        scores={name: about(name, probe.n) for name in names() if any(name in one for one in answers.values())},
        maps=_maps(model.id, found, layers),
        layers=_layers(found, answers, layers, len(texts[0]) if texts else 0),
        baselines={"n": probe.n, **baselines(both_ways(probe.n), probing.seed), **under},
        notes=notes(probe, copies, delta, texts, len(ids)),
        n=probe.n,
        words=len(probe.words_W),
    )


Found = dict[str, dict[AttentionSite, Matrix]]


def _answers(
    found: Found, accounts: dict[AttentionSite, LayerScores], resampling: Resampling, seed: int
) -> dict[AttentionSite, dict[str, Summary]]:
    """Every score of every place: those of the matrices, then those of what is left beside them."""
    answers: dict[AttentionSite, dict[str, Summary]] = {site: {} for site in found["identical"]}
    known = Chances(seed)
    for source, book in found.items():
        for site, matrix in book.items():
            summaries = matrix.summaries(known.under(matrix.allowed_TT))
            answers[site] |= {f"{source}.{name}": summary for name, summary in summaries.items()}
    for site, account in accounts.items():
        answers[site] |= {name: summarise(account, name, resampling) for name in account.values}
    return answers


def _layers(
    found: Found, answers: dict[AttentionSite, dict[str, Summary]], layers: dict[AttentionSite, int], short: int
) -> list[dict[str, Any]]:
    """Measures of the mean matrix of a layer's heads, beside the mean of the heads' own and that of a text's slots."""
    told = []
    for source, book in found.items():
        for site, matrix in book.items():
            together = matrix.together()
            heads = {name: float(np.nanmean(answers[site][f"{source}.{name}"].value_H)) for name in together}
            (back, ahead), n = reach_of(matrix.allowed_TT), len(matrix.allowed_TT)
            sees = {"n": n, "mask": mask_name((back, ahead)), "back": back, "ahead": ahead}
            one = {"layer": layers[site], "source": source, **sees, "heads": heads, "together": together}
            one |= {"first": {"n": short, "heads": matrix.first(short)}} if 0 < short < n else {}
            told.append({**one, "paired": [round(mass, 6) for mass in paired(matrix.attention_HTT).tolist()]})
    return sorted(told, key=lambda one: one["layer"])


def _maps(model: str, found: Found, layers: dict[AttentionSite, int]) -> pl.DataFrame:
    """positional.parquet: every matrix, or its first slots."""
    tables = [pl.DataFrame(schema=POSITIONAL)]
    for source, book in found.items():
        for site, matrix in book.items():
            some_HTT = matrix.attention_HTT[:, :MOST, :MOST].numpy()
            heads, slots, _ = some_HTT.shape
            head, query, key = (axis.ravel() for axis in np.indices((heads, slots, slots)))
            columns = {"model": model, "layer": layers[site], "head": head, "source": source}
            columns |= {"query": query, "key": key, "attention": some_HTT.ravel()}
            tables.append(pl.DataFrame(columns, schema=POSITIONAL))
    return pl.concat(tables).sort("layer", "head", maintain_order=True)
