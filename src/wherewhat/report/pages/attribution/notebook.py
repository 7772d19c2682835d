"""An attribution for a notebook: its texts, shaded, without a script."""

from collections.abc import Sequence

import polars as pl

from wherewhat.formatting import signed
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.blocks.swap_examples import direction
from wherewhat.report.core.html import Html, join, tag
from wherewhat.report.core.palette import LIGHT
from wherewhat.report.pages.attribution.findings import ledger_sentence, title
from wherewhat.report.pages.attribution.relevance_data import Explanation, RelevanceData
from wherewhat.tables.manifest.attribution import AttributionManifest

SHOWN = 10  # explanations
ADDS, TAKES = (tuple(int(LIGHT.chance[step][at : at + 2], 16) for at in (1, 3, 5)) for step in (5, 1))
LINE = "line-height:2;max-width:60em"


def notebook_html(relevance: pl.DataFrame, manifest: AttributionManifest) -> str:
    """Every text with its tokens shaded and positions below them, in colours that suit light and dark pages."""
    explanations = RelevanceData(relevance, manifest).explanations
    shown = [_shaded(each) for each in explanations[:SHOWN]]
    more = len(explanations) - SHOWN
    return tag("div", *shown, tag("p", f"and {more} more") if more > 0 else None)


def _shaded(explanation: Explanation) -> Html:
    """One text, what is explained of it, and its ledger."""
    most = [max(map(abs, values), default=0.0) for values in (explanation.combined, explanation.position)]
    tokens = [_token(explanation, slot, most) for slot in range(len(explanation.tokens))]
    return tag(
        "div",
        tag("p", tag("b", f"{capital(title(explanation))}, {explanation.method}")),
        tag("p", *tokens, style=LINE, dir=direction(piece.text for piece in explanation.texts)),
        tag("p", tag("small", ledger_sentence(explanation))),
    )


def _token(explanation: Explanation, slot: int, most: Sequence[float]) -> Html:
    """A token with its numbers as a tooltip; the line below it is its position."""
    piece = explanation.texts[slot]
    values = (explanation.combined[slot], explanation.position[slot])
    look = f"background:{_colour(values[0], most[0])};border-radius:3px;padding:1px 2px"
    look += f";border-bottom:4px solid {_colour(values[1], most[1])}" if most[1] else ""
    numbers = [f"slot {slot}", f"token {signed(explanation.token[slot], 3)}"]
    numbers += [f"position {signed(values[1], 3)}", f"combined {signed(values[0], 3)}"] if most[1] else []
    return join(" " if piece.spaced else "", tag("span", piece.text, style=look, title=", ".join(numbers)))


def _colour(value: float, most: float) -> str:
    """Orange for what adds, blue for what takes away, as strong as its share of the largest."""
    red, green, blue = ADDS if value >= 0 else TAKES
    return f"rgba({red},{green},{blue},{0.7 * abs(value) / most if most else 0:.3f})"
