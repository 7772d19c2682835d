"""The page of one run: every head of one model. A new part of it is a new function and a line in `page_of_heads`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from wherewhat.formatting import large, listed
from wherewhat.names import layer_labels
from wherewhat.report.blocks.axes import gradient, layer_colour, part_shape
from wherewhat.report.blocks.layout import counted, note, present
from wherewhat.report.blocks.marks import head_marks
from wherewhat.report.blocks.provenance import provenance_section, texts_section
from wherewhat.report.blocks.ternary import ternary, ternary_tables
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.page import Columns, Page, Section, Widget
from wherewhat.report.pages.heads.findings import findings
from wherewhat.report.pages.heads.head_charts import dots, first_axes, head_map, picture, plane, plane_picture, thumb
from wherewhat.report.pages.heads.head_table import FEW_ROWS, POSITIONAL, HeadScore, HeadTable, read_head_table
from wherewhat.report.pages.heads.notable_heads import notable_cards, notable_heads
from wherewhat.report.pages.heads.offsets import profile, profiles
from wherewhat.report.pages.heads.positional import positional_part
from wherewhat.report.pages.heads.positional_tables import positional_results
from wherewhat.report.pages.heads.score_definitions import in_order, missing_value_notes, score_definitions
from wherewhat.report.pages.heads.shares import VERDICTS, HeadView, contradictions, measurements, triples, verdicts
from wherewhat.report.pages.heads.spectra import rotary_frequencies, spectra
from wherewhat.report.pages.heads.where_or_what import exclusion_bounds, hidden_state, shares_by_layer
from wherewhat.tables.manifest.scores import ProfileManifest

UNSAFE = re.compile(r"[^A-Za-z0-9_-]")  # in the name of a file
MANY = 4  # scores named in one sentence
HEAD = re.compile(r"\b((?:(?:encoder|decoder|cross) )?L\d+H\d+)\b")
DECIDED = {  # by the name of the first shares: what the corners of the triangle decide
    "input": "its attention when tokens are permuted at the input",
    "shift": "its attention when the text is shifted at the input",
    "shares": "its logits",
}
ANY_TWO = "All heads by any two scores; dashed lines are chance."
SEARCHED = (
    "Click a heading to sort. Search for heads (`L3H7`, `layer 3`) or by score (`induction > 0.3 sink < 0.5`). "
    "A number is grey if its interval includes chance. The last rows say how many texts, windows and rows each "
    "score is based on."
)
NO_FREQUENCIES = "No rotary frequencies for this head: its logits were not decomposed ({})."


def page_of_heads(
    heads: pl.DataFrame,
    offsets: pl.DataFrame,
    frequencies: pl.DataFrame,
    manifest: ProfileManifest,
    positional: pl.DataFrame | None = None,
) -> Page:
    """Lay out everything that a run knows about the heads of one model, the most important first."""
    run, labels = read_head_table(heads, manifest), layer_labels((each.layer, each.part) for each in manifest.layers)
    notable, by_offset = notable_heads(run), profiles(offsets, run.heads["name"], labels)
    rotary, measured = spectra(frequencies, labels), triples(run)
    sections = [
        overview(run, notable, by_offset),
        exclusion_bounds(run),
        shares_by_layer(run),
        rotary_frequencies(rotary, manifest.correspondence),
        hidden_state(run),
        positional_part(run, positional_results(run, positional)),
        Section("plane", "Any two scores", ANY_TWO, join(_plane(run, notable)), "Plane") if measured else None,
        score_maps(run),
        selected_head(run, notable, by_offset, turning=rotary.there),
        Section("table", "Every number", SEARCHED, join(Widget("table", attributes={"class_": "panel"})), "Table"),
        score_definitions(run),
        texts_section(manifest.texts),
        provenance_section(manifest, model=manifest.model, texts=manifest.texts, layers=manifest.layers),
    ]
    return Page(
        title=manifest.model.id,
        kind="Where every attention head looks, and why" if measured else "Where every attention head looks",
        lede="An attention head can attend to a token because of where it is or because of what it is. "
        f"This page shows where {_which(run)} attends, and how far that is from chance.",
        facts=_facts(run),
        sections=present(sections),
        findings=[_with_buttons(sentence) for sentence in findings(heads, manifest)],
    )


def _which(run: HeadTable) -> str:
    """The heads of the run: all of the model's, or some of them."""
    names = run.heads["name"]
    if run.partial:
        single = f"{names[0]}, one of the {run.total:,} heads of this model,"
        return single if len(names) == 1 else f"each of {len(names):,} of the {run.total:,} heads of this model"
    return "the only head of this model" if len(names) == 1 else f"each of the {len(names):,} heads of this model"


def _facts(run: HeadTable) -> list[tuple[str, str]]:
    model, texts = run.manifest.model, run.manifest.texts
    facts = [("{} × {}".format(*(len(set(run.heads[name])) for name in ("layer", "head"))), "layers × heads")]
    if run.partial:
        facts = [(f"{len(run.heads['name']):,} of {run.total:,}", "heads")]
    windows = texts.windows if texts.windows != texts.count else None
    counts = [(texts.count, "text"), (windows, "window"), (texts.tokens, "token")]
    facts += [counted(number, what) for number, what in counts if number is not None]
    facts += [(large(model.parameters), "parameters")] if model.parameters else []
    return facts + ([(model.family, "family")] if model.family else [])


def _with_buttons(sentence: str) -> Html:
    """A sentence whose heads can be selected."""
    pieces: list[str] = HEAD.split(sentence)
    pieces[1::2] = [tag("button", name, type="button", data_head=name, class_="name") for name in pieces[1::2]]
    return join(*pieces)


def overview(run: HeadTable, notable: Sequence[HeadScore], by_offset: Columns) -> Section:
    """All heads in the triangle of shares or by any two scores, the selected head, and the notable heads."""
    measured, mixed = triples(run), contradictions(run)
    marks = {"mixed": [int(name in mixed) for name in run.heads["name"]], "verdict": verdicts(run)}
    run = replace(run, heads={**run.heads, **marks})
    chart = _triangle(run, measured[0], notable) if measured else _plane(run, notable)
    how = "Each mark is one head; dashed lines are chance. Click one, or use the arrow keys, to see where it attends."
    if measured:
        decided = DECIDED.get(measured[0].name, "where it attends")
        how = f"Each mark is one head, drawn towards what decides {decided}. Click one, or use the arrow keys."
    cards = tag("div", tag("h3", "Notable heads"), notable_cards(notable, run), class_="worth")
    with_profile = [head for head in notable if head.name in by_offset]  # so that the first head's chart is not empty
    summary = _summary(run, next(iter(with_profile or notable), None), mixed)
    body = join(tag("div", chart, summary, class_="first"), cards)
    lede = " ".join((how, *_cautions(run)))
    return Section("heads", "Where or what" if measured else "All heads", lede, body, short="Heads")


def _triangle(run: HeadTable, triple: HeadView, notable: Sequence[HeadScore]) -> Widget:
    hue, shape = layer_colour(run.layers, inside=True), part_shape(run.parts)
    spec, tables = ternary(head_marks(len(run.heads["name"])), color=hue, shape=shape), ternary_tables(triple.corners)
    keys = dict(zip(("where", "what", "rest"), (score.key for score in triple.scores), strict=True))
    drawn: dict[str, Any] = {"tables": {"heads": run.heads, **tables}, "words": keys, "size": (700, 560)}
    drawn |= {"selected": notable[0].name if notable else ""}
    figures, about = {"triangle": picture(run, spec, "Where or what", **drawn)}, {"fresh": run.untrained_windows}
    return Widget("triangle", {"triangle": spec}, tables, about, figures, attributes={"class_": "panel"})


def _plane(run: HeadTable, notable: Sequence[HeadScore]) -> Widget:
    """All heads by two scores of the reader's choice."""
    spec, selected = plane(run), notable[0].name if notable else ""
    drawn = plane_picture(run, spec, first_axes(run), "All heads", size=(760, 520), selected=selected)
    return Widget("plane", charts={"plane": spec}, figures={"plane": drawn}, attributes={"class_": "panel"})


def _summary(run: HeadTable, first: HeadScore | None, mixed: Mapping[str, tuple[str, str]]) -> Widget:
    """The selected head in short, with what all widgets read: the scores, and the axes, map and head to start with."""
    (across, up), measured = first_axes(run), triples(run)
    rest = measured[0].corners[2][0] if measured else ""
    same = {f"rests_{score.key}" for score in run.scores if len(score.rests) < 2}
    same |= {f"untrained_{score.key}" for score in run.scores if score.untrained is None}
    tables = {"heads": {name: column for name, column in run.heads.items() if name not in same}}
    about = {
        "scores": [score.about for score in run.scores],
        "kinds": in_order(score.kind for score in run.scores),
        "parts": list(run.parts),
        "x": across.key,
        "y": up.key,
        "map": first.score.key if first else across.key,
        "selected": first.name if first else run.heads["name"][0],
        "verdicts": [words.format(rest) for words in VERDICTS],
        "triples": [triple.about for triple in measured],
        "views": [view.about for view in measurements(run)],
        "mixed": mixed,
    }
    look = {"class_": "summary panel", "aria_label": "The selected head"}
    return Widget("summary", tables=tables, about=about, attributes=look, element="aside")


def _cautions(run: HeadTable) -> Iterator[str]:
    """Which scores are based on few rows or one text, and why some logits could not be decomposed."""
    few = [f"`{score.name}`" for score in run.answered if any(counts.few for counts in score.rests)]
    if few and {counts.texts for score in run.answered for counts in score.rests} == {1}:
        yield "There is only one text, so no number has an interval."
    elif few:
        names = few if len(few) <= MANY else [*few[: MANY - 1], f"{len(few) - MANY + 1} more"]
        verb = "is" if len(few) == 1 else "are"
        yield f"{listed(names)} {verb} based on fewer than {FEW_ROWS} rows or on a single text."
    layers = set(run.heads["layer"])
    for reason in dict.fromkeys(run.undecomposed.values()):
        which = sorted(layer for layer, why in run.undecomposed.items() if why == reason and layer in layers)
        where = "" if set(which) == layers else f" of layer {', '.join(map(str, which))}"
        if which:
            yield f"Position and content cannot be separated in the logits{where}: {reason}."


def score_maps(run: HeadTable) -> Section:
    """One map of layer by head, and all the others as small ones to choose from."""
    titled = head_map(gradient("above or below chance", gradientLength=200, titleOrient="top"))
    size = 44 * max(len(set(run.heads["head"])), 6), 26 * len(set(run.heads["layer"]))
    figures = {
        f"map_{UNSAFE.sub('_', score.name)}": picture(
            run, titled, score.name, size=size, words={"score": score.key}, reach=score.reach, base=score.range[0]
        )
        for score in run.answered  # of those of the positional part only locality and balance
        if score.kind != POSITIONAL or score.name.partition(".")[2] in ("locality", "balance")
    }
    charts = {"map": head_map(), "thumb": thumb()}
    widget = Widget("maps", charts=charts, figures=figures, attributes={"class_": "maps"})
    lede = "The colour is the distance from chance: orange above, blue below. A struck-out cell has no value."
    body = join(widget, note(" ".join(missing_value_notes(run))))
    return Section("maps", "Every score by layer and head", lede, body, short="Maps")


def selected_head(run: HeadTable, notable: Sequence[HeadScore], by_offset: Columns, *, turning: bool) -> Section:
    """Where the selected head attends, and all its scores."""
    spec, figures = profile(by_offset), {}
    for name in dict.fromkeys(head.name for head in notable if head.name in by_offset):
        bars = {column: by_offset[column] for column in ("place", "from", "to", "all")} | {"mass": by_offset[name]}
        drawn: dict[str, Any] = {"size": (760, 340), "tables": {"profile": bars}, "bins": len(bars["place"])}
        figures[f"offsets_{UNSAFE.sub('_', name)}"] = picture(run, spec, f"Where {name} attends", **drawn)
    still = {str(layer): NO_FREQUENCIES.format(reason) for layer, reason in run.undecomposed.items()}
    charts, look = {"profile": spec, "dots": dots()}, {"class_": "profile panel"}
    widget = Widget("profile", charts, {"offsets": by_offset}, {"still": still}, figures, attributes=look)
    lede = (
        "Left: the mean attention to a key at each offset; negative offsets are before the query. "
        "Right: every score with its 95 % interval over texts."
        + (" Below: what each rotary frequency adds." if turning else "")
    )
    return Section("head", "One head", lede, join(widget), short="One head")
