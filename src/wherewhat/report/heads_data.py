"""Everything that the page of heads shows, read once from the tables of a run."""

from dataclasses import dataclass, replace

import polars as pl

from wherewhat.names import layer_labels
from wherewhat.report.head_table import HeadTable, read_head_table
from wherewhat.report.notable_heads import HeadScore, notable_heads
from wherewhat.report.offsets import profiles
from wherewhat.report.page import Columns
from wherewhat.report.positional_tables import PositionalResults, positional_of
from wherewhat.report.shares import PublishedPair, ShareTriple, exclusion, pairs, triples
from wherewhat.report.spectra import Spectra, spectra
from wherewhat.report.verdicts import HeadView, contradictions, verdicts, views
from wherewhat.tables.manifest.scores import ProfileManifest


@dataclass(frozen=True)
class HeadsPageData:
    """One run as its page shows it. What was not measured is empty."""

    run: HeadTable
    notable: list[HeadScore]  # the heads to show first, most important first
    by_offset: Columns
    spectra: Spectra
    triples: list[ShareTriple]
    ratios: Columns  # exclusion terms over logit variance: x positional, y symbolic
    pairs: list[PublishedPair]  # published scores
    moved: list[PublishedPair]  # the same with tokens swapped at the input
    views: list[HeadView]  # the measurements of position against content, starting with what decides where heads attend
    mixed: Columns  # the heads on which those measurements disagree, and why
    positional: PositionalResults | None  # None where it was not measured

    @property
    def layers(self) -> int:
        """How many layers the page has room for: the last one plus 1."""
        return int(max(self.run.heads["layer"])) + 1

    @property
    def undecomposed(self) -> dict[int, str]:
        """By layer, why its logits were not decomposed."""
        layers = self.run.manifest.layers
        return {each.layer: each.reason or "" for each in layers if each.logits == "undecomposed"}

    @property
    def reasons(self) -> list[str]:
        """Each of those reasons once."""
        return list(dict.fromkeys(self.undecomposed.values()))

    @property
    def exact(self) -> bool:
        """Whether the logits of some layer were decomposed and depend on slots."""
        states = [each.logits for each in self.run.manifest.layers]
        return "exact" in states or any(triple.name == "shares" for triple in self.triples)

    @property
    def hidden(self) -> bool:
        """Whether position is in the hidden state, so that it was measured in other ways."""
        return bool(
            self.moved or self.run.find("mean.position") or any(triple.name == "input" for triple in self.triples)
        )


def read_heads_page_data(
    heads: pl.DataFrame,
    offsets: pl.DataFrame,
    frequencies: pl.DataFrame,
    manifest: ProfileManifest,
    positional: pl.DataFrame | None = None,
) -> HeadsPageData:
    """Read the tables of a run."""
    run, labels = read_head_table(heads, manifest), layer_labels((each.layer, each.part) for each in manifest.layers)
    shares, swapped, moved = triples(run), pairs(run), pairs(run, "input.")
    measurements = views(shares, swapped, moved)
    mixed = contradictions(run, measurements)
    marks = [int(name in mixed["name"]) for name in run.heads["name"]]
    marked = {"mixed": marks, "verdict": verdicts(run, shares)}
    return HeadsPageData(
        run=replace(run, heads={**run.heads, **marked}),
        notable=notable_heads(run),
        by_offset=profiles(offsets, run.heads["name"], labels),
        spectra=spectra(frequencies, labels),
        triples=shares,
        ratios=exclusion(run),
        pairs=swapped,
        moved=moved,
        views=measurements,
        mixed=mixed,
        positional=positional_of(run, pl.DataFrame() if positional is None else positional),
    )
