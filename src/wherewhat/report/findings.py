"""Everything a page of heads is made from, read once out of the tables of a run."""

from dataclasses import dataclass, replace

import polars as pl

from wherewhat.names import layer_labels
from wherewhat.report.measured import Manifest, Measured, measured
from wherewhat.report.offsets import profiles
from wherewhat.report.page import Columns
from wherewhat.report.positional_tables import Positional, positional_of
from wherewhat.report.shares import Pair, Triple, exclusion, pairs, triples
from wherewhat.report.spectra import Spectra, spectra
from wherewhat.report.striking import Notice, striking
from wherewhat.report.views import View, contradictions, verdicts, views


@dataclass(frozen=True)
class Findings:
    """One run as its page tells it. What was not measured is empty."""

    run: Measured
    notable: list[Notice]  # the heads worth a look, the most telling first
    by_offset: Columns
    spectra: Spectra
    triples: list[Triple]
    ratios: Columns  # P/Var and S/Var
    pairs: list[Pair]  # published scores
    moved: list[Pair]  # the same with tokens moved at the input
    views: list[View]  # of where against what, first what decides where heads look
    mixed: Columns  # the heads on which they disagree, and why
    positional: Positional | None  # locality and symmetry of what place alone gives, where that was asked

    @property
    def layers(self) -> int:
        """How many layers, counted to the last."""
        return int(max(self.run.heads["layer"])) + 1

    @property
    def opaque(self) -> dict[int, str]:
        """By layer, why its logits were not taken apart."""
        layers = self.run.manifest.get("layers") or ()
        return {one["layer"]: str(one.get("reason")) for one in layers if one.get("logits") == "opaque"}

    @property
    def reasons(self) -> list[str]:
        """The same, each reason once."""
        return list(dict.fromkeys(self.opaque.values()))

    @property
    def exact(self) -> bool:
        """Whether slots have a say in the logits of some layer that could be taken apart."""
        told = [one["logits"] for one in self.run.manifest.get("layers") or () if one.get("logits")]
        return "exact" in told or any(one.name == "shares" for one in self.triples)

    @property
    def hidden(self) -> bool:
        """Whether position sits in the hidden state, so that other measurements were taken."""
        return bool(self.moved or self.run.find("mean.position") or any(one.name == "input" for one in self.triples))


def findings(
    heads: pl.DataFrame,
    offsets: pl.DataFrame,
    frequencies: pl.DataFrame,
    manifest: Manifest,
    positional: pl.DataFrame | None = None,
) -> Findings:
    """Read the tables of a run."""
    run, labels = measured(heads, manifest), layer_labels(manifest.get("layers") or ())
    shares, swapped, moved = triples(run), pairs(run), pairs(run, "input.")
    held = views(shares, swapped, moved)
    mixed = contradictions(run, held)
    marks = [int(name in mixed["name"]) for name in run.heads["name"]]
    marked = {"mixed": marks, "verdict": verdicts(run, shares)}
    return Findings(
        run=replace(run, heads={**run.heads, **marked}),
        notable=striking(run),
        by_offset=profiles(offsets, run.heads["name"], labels),
        spectra=spectra(frequencies, labels),
        triples=shares,
        ratios=exclusion(run),
        pairs=swapped,
        moved=moved,
        views=held,
        mixed=mixed,
        positional=positional_of(run, pl.DataFrame() if positional is None else positional),
    )
