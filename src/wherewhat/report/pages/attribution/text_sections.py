"""The text of an attribution, shaded by relevance, and its numbers; other sections follow what is chosen here."""

from collections.abc import Sequence

from wherewhat.report.blocks.layout import panel
from wherewhat.report.blocks.swap_examples import direction
from wherewhat.report.core.page import Columns, Section, Widget
from wherewhat.report.pages.attribution.findings import KINDS, probability
from wherewhat.report.pages.attribution.relevance_data import Explanation
from wherewhat.tables.manifest.attribution import AggregateSection

SUMMED = "signed"  # the aggregate of which sums are parts of the logit
PARTS = {"combined": "combined", "token": "tokens", "position": "positions"}  # what a text may be shaded by


def the_text(shown: Sequence[Explanation], aggregate: AggregateSection) -> Section:
    """The text, with a choice of output, method and part."""
    tables: dict[str, Columns] = {}
    for each in shown:
        tables[f"pieces-{each.output}"] = {
            "text": [piece.text for piece in each.texts],
            "spaced": [int(piece.spaced) for piece in each.texts],
        }
        tables[f"relevance-{each.number}"] = {part: list(getattr(each, part)) for part in PARTS}
    body = panel(
        Widget("explained", tables=tables, about={"explanations": [_about(each, aggregate) for each in shown]})
    )
    lede = "Orange adds to the logit of the explained output, blue takes away from it."
    if any(any(each.position) for each in shown):
        lede += " The line under a token is the relevance of its position, on a scale of its own."
    lede += " Hover over a token, or walk through the text with the arrow keys, for its numbers."
    return Section("text", "The text", lede, body, short="Text")


def every_number(aggregate: AggregateSection) -> Section:
    """The numbers behind the shading, of the explanation that is chosen."""
    lede = (
        "Of the output and the method that are chosen above. Combined is "
        f"{aggregate.about or 'a token with its position'}. Click a heading to sort."
    )
    return Section("numbers", "Every token", lede, panel(Widget("explained-table")), short="Numbers")


def _about(explanation: Explanation, aggregate: AggregateSection) -> dict[str, object]:
    """What the script must know of an explanation."""
    explained = explanation.explained
    parts = list(PARTS) if any(explanation.position) else ["combined"]
    return {
        "output": explanation.output,
        "text": explained.text,
        "method": explanation.method,
        "kind": KINDS.get(explained.kind, "output"),
        "name": explanation.name,
        "chance": "" if explained.probability is None else probability(explained.probability),
        "likeliest": explanation.likeliest or "",
        "logit": explained.logit,
        "shares": explanation.ledger is not None and aggregate.name == SUMMED,  # else they add up to nothing
        "slot": explained.slot if explained.kind == "masked" else None,
        "parts": [[part, PARTS[part]] for part in parts],
        "dir": direction(piece.text for piece in explanation.texts),
    }
