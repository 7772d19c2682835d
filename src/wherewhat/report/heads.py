"""The page of one run: every head of one model. A new part of it is a new function and a line in `SECTIONS`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from wherewhat.formatting import large, listed
from wherewhat.report.findings import findings
from wherewhat.report.head_charts import ScoreAxis, dots, head_map, profile, thumb
from wherewhat.report.head_figures import figures_of_heads, first_axes, plane_of
from wherewhat.report.head_table import FEW_ROWS, HeadTable, ScoreView
from wherewhat.report.heads_data import HeadsPageData, read_heads_page_data
from wherewhat.report.kinds import in_order
from wherewhat.report.missing_values import missing_value_notes
from wherewhat.report.notable_cards import notable_cards
from wherewhat.report.offsets import axis_labels
from wherewhat.report.page import Columns, Page, Section
from wherewhat.report.positional import positional_part
from wherewhat.report.positional_data import (
    positional_chart_specs,
    positional_chart_tables,
    positional_figures,
    positional_widget_data,
)
from wherewhat.report.provenance import provenance_section, texts_section
from wherewhat.report.score_definitions import score_definitions
from wherewhat.report.tags import Html, join, prose, tag
from wherewhat.report.verdicts import VERDICTS
from wherewhat.report.where_or_what import (
    exclusion_bounds,
    hidden_state,
    rotary_frequencies,
    shares_by_layer,
    where_chart_specs,
    where_chart_tables,
    where_widget_data,
)
from wherewhat.tables.manifest.scores import ProfileManifest

MANY = 4  # scores named in one sentence
HEAD = re.compile(r"\b((?:(?:encoder|decoder|cross) )?L\d+H\d+)\b")
DECIDED = {  # by the name of the first shares: what the corners of the triangle decide
    "input": "its attention when tokens are permuted at the input",
    "shift": "its attention when the text is shifted at the input",
    "shares": "its logits",
}


def page_of_heads(
    heads: pl.DataFrame,
    offsets: pl.DataFrame,
    frequencies: pl.DataFrame,
    manifest: ProfileManifest,
    positional: pl.DataFrame | None = None,
) -> Page:
    """Lay out everything that a run knows about the heads of one model, the most important first."""
    data = read_heads_page_data(heads, offsets, frequencies, manifest, positional)
    charts = _chart_specs(data)
    sections = [section(data) for section in SECTIONS]
    return Page(
        title=manifest.model.id,
        kind="Where every attention head looks, and why" if data.triples else "Where every attention head looks",
        lede=_lede(data.run),
        facts=_facts(data.run),
        sections=[section for section in sections if section],
        charts=charts,
        findings=[_with_buttons(sentence) for sentence in findings(heads, manifest)],
        tables={
            "heads": _shown_columns(data.run),
            "offsets": data.by_offset,
            **where_chart_tables(data),
            **positional_chart_tables(data),
        },
        about=_widget_data(data),
        figures=figures_of_heads(data) | positional_figures(data, charts),
    )


def overview(data: HeadsPageData) -> Section:
    """All heads in the triangle of shares or by any two scores, the selected head, and the notable heads."""
    notable = tag("div", tag("h3", "Notable heads"), notable_cards(data.notable, data.run), class_="worth")
    widget = "triangle" if data.triples else "plane"
    summary = tag("aside", data_widget="summary", class_="summary panel", aria_label="The selected head")
    body = join(tag("div", tag("div", data_widget=widget, class_="panel"), summary, class_="first"), notable)
    lede = " ".join((_how_to_read(data), *_few(data.run), *_undecomposed(data)))
    title = "Where or what" if data.triples else "All heads"
    return Section("heads", title, lede, body, short="Heads")


def _how_to_read(data: HeadsPageData) -> str:
    """What the first chart shows."""
    if not data.triples:
        return (
            "Each mark is one head; dashed lines are chance. Click one, or use the arrow keys, to see where it attends."
        )
    decided = DECIDED.get(data.triples[0].name, "where it attends")
    return f"Each mark is one head, drawn towards what decides {decided}. Click one, or use the arrow keys."


def _few(run: HeadTable) -> list[str]:
    """Which scores are based on few rows or one text."""
    few = [f"`{score.name}`" for score in run.answered if any(counts.few for counts in score.rests)]
    if not few:
        return []
    if {counts.texts for score in run.answered for counts in score.rests} == {1}:
        return ["There is only one text, so no number has an interval."]
    named = few if len(few) <= MANY else [*few[: MANY - 1], f"{len(few) - MANY + 1} more"]
    verb = "is" if len(few) == 1 else "are"
    return [f"{listed(named)} {verb} based on fewer than {FEW_ROWS} rows or on a single text."]


def _undecomposed(data: HeadsPageData) -> list[str]:
    """Why position and content were not told apart, where logits could not be decomposed."""
    layers, sentences = set(data.run.heads["layer"]), []
    for reason in data.reasons:
        which = sorted(layer for layer, why in data.undecomposed.items() if why == reason and layer in layers)
        where = "" if set(which) == layers else f" of layer {', '.join(map(str, which))}"
        if which:
            sentences.append(f"Position and content cannot be separated in the logits{where}: {reason}.")
    return sentences


def any_two_scores(data: HeadsPageData) -> Section | None:
    """All heads by two scores of the reader's choice, unless the page began with that."""
    if not data.triples:
        return None
    lede = "All heads by any two scores; dashed lines are chance."
    return Section("plane", "Any two scores", lede, tag("div", data_widget="plane", class_="panel"), short="Plane")


def score_maps(data: HeadsPageData) -> Section:
    """One map of layer by head, and all the others as small ones to choose from."""
    notes = missing_value_notes(data.run)
    return Section(
        "maps",
        "Every score by layer and head",
        "The colour is the distance from chance: orange above, blue below. A struck-out cell has no value.",
        join(
            tag("div", data_widget="maps", class_="maps"),
            tag("p", prose(" ".join(notes)), class_="note") if notes else "",
        ),
        short="Maps",
    )


def selected_head(data: HeadsPageData) -> Section:
    """Where the selected head attends, and all its scores."""
    return Section(
        "head",
        "One head",
        "Left: the mean attention to a key at each offset; negative offsets are before the query. "
        "Right: every score with its 95 % interval over texts."
        + (" Below: what each rotary frequency adds." if data.spectra.there else ""),
        tag("div", data_widget="profile", class_="profile panel"),
        short="One head",
    )


def score_table(data: HeadsPageData) -> Section:
    """Every number, to sort and to search."""
    return Section(
        "table",
        "Every number",
        "Click a heading to sort. Search for heads (`L3H7`, `layer 3`) or by score (`induction > 0.3 sink < 0.5`). "
        "A number is grey if its interval includes chance. The last rows say how many texts, windows and rows each "
        "score is based on.",
        tag("div", data_widget="table", class_="panel"),
        short="Table",
    )


SECTIONS: Sequence[Callable[[HeadsPageData], Section | None]] = (
    overview,
    exclusion_bounds,
    shares_by_layer,
    rotary_frequencies,
    hidden_state,
    positional_part,
    any_two_scores,
    score_maps,
    selected_head,
    score_table,
    score_definitions,
    lambda data: texts_section(data.run.manifest.texts),
    lambda data: _provenance(data.run.manifest),
)


def _provenance(manifest: ProfileManifest) -> Section:
    return provenance_section(manifest, model=manifest.model, texts=manifest.texts, layers=manifest.layers)


def _lede(run: HeadTable) -> str:
    return (
        "An attention head can attend to a token because of where it is or because of what it is. "
        f"This page shows where {_which(run)} attends, and how far that is from chance."
    )


def _which(run: HeadTable) -> str:
    """The heads of the run: all of the model's, or some of them."""
    names, total = run.heads["name"], run.total
    if total is not None and total > len(names):
        single = f"{names[0]}, one of the {total:,} heads of this model,"
        return single if len(names) == 1 else f"each of {len(names):,} of the {total:,} heads of this model"
    return "the only head of this model" if len(names) == 1 else f"each of the {len(names):,} heads of this model"


def _facts(run: HeadTable) -> list[tuple[str, str]]:
    model, texts = run.manifest.model, run.manifest.texts
    layers, heads, many = len(set(run.heads["layer"])), len(set(run.heads["head"])), len(run.heads["name"])
    some = run.total is not None and run.total > many
    facts = [(f"{many:,} of {run.total:,}", "heads")] if some else [(f"{layers} × {heads}", "layers × heads")]
    windows = texts.windows if texts.windows != texts.count else None
    counts = [(texts.count, "text"), (windows, "window"), (texts.tokens, "token")]
    facts += [(f"{count:,}", what if count == 1 else f"{what}s") for count, what in counts if isinstance(count, int)]
    facts += [(large(model.parameters), "parameters")] if model.parameters else []
    return facts + ([(model.family, "family")] if model.family else [])


def _chart_specs(data: HeadsPageData) -> dict[str, Any]:
    x, y = ScoreAxis("{x}", "{x title}"), ScoreAxis("{y}", "{y title}")
    return {
        "plane": plane_of(data.run, x, y),
        "map": head_map("{score}"),
        "thumb": thumb("{score}"),
        "profile": profile(axis_labels(data.by_offset)),
        "dots": dots(),
        **where_chart_specs(data),
        **positional_chart_specs(data),
    }


def _widget_data(data: HeadsPageData) -> dict[str, Any]:
    """What the widgets need beside the tables: the scores, and the axes, map and head to start with."""
    run = data.run
    x, y = first_axes(run)
    with_profile = [head for head in data.notable if head.name in data.by_offset]  # so that its chart is not empty
    first = next(iter(with_profile or data.notable), None)
    rest = data.triples[0].corners[2][0] if data.triples else ""
    return {
        "scores": [_score_record(score) for score in run.scores],
        "kinds": in_order(score.kind for score in run.scores),
        "parts": list(run.parts),
        "verdicts": [words.format(rest) for words in VERDICTS],
        "sink": next((score.key for score in run.find("sink")), None),
        "x": x.key,
        "y": y.key,
        "map": first.score.key if first else x.key,
        "selected": first.name if first else run.heads["name"][0],
        **where_widget_data(data),
        **positional_widget_data(data),
    }


def _score_record(score: ScoreView) -> dict[str, Any]:
    plain = ("key", "name", "asks", "low", "high", "kind", "reach", "answered")
    return {name: getattr(score, name) for name in plain} | {
        "rests": [{"said": str(counts), "few": counts.few, **asdict(counts)} for counts in score.rests],
        "range": list(score.range),
        "open": [end is None for end in score.ends],
        "span": list(score.span),
    }


def _shown_columns(run: HeadTable) -> Columns:
    """The columns of the heads, without those that are empty or the same for all of them."""
    same = {f"rests_{score.key}" for score in run.scores if len(score.rests) < 2}
    same |= {f"untrained_{score.key}" for score in run.scores if score.untrained is None}
    return {name: column for name, column in run.heads.items() if name not in same}


def _with_buttons(sentence: str) -> Html:
    """A sentence whose heads can be selected."""
    return join(
        *(
            tag("button", piece, type="button", data_head=piece, class_="name") if index % 2 else piece
            for index, piece in enumerate(HEAD.split(sentence))
        )
    )
