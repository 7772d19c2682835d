"""The tables behind the charts of swapped words, each row with its tooltip."""

from collections.abc import Iterator, Mapping
from typing import Any

from wherewhat.formatting import percent
from wherewhat.published import word_swaps as published
from wherewhat.report.page import Columns
from wherewhat.report.panels import columns
from wherewhat.report.result_text import points, share
from wherewhat.report.word_swap_data import POOLED, ROLE_SWAP, SIZES, WordSwapPageData

ENDS = ("value", "low", "high", "said")
STATES = {"as it is": "before", "exchanged": "after the role swap"}  # by the name in the table
LINES = {size: f"{size} words" for size in SIZES} | {"whole": "whole sentence"}


def tables_of(data: WordSwapPageData) -> Mapping[str, Columns]:
    """Every table of the page by name."""
    return {
        "exchanged": columns(_role_swaps(data), ("question", "encoding", "order", "state", *ENDS)),
        "levels": columns(_levels(data), ("question", "value", "said")),
        "changes": columns(_changes(data), ("panel", "measure", "set", "kind", "line", "order", *ENDS)),
        "published": columns(_published(), ("measure", "line", "order", "value", "said")),
        "sides": columns(_sides(data), ("question", "locality", "s", "measure", *ENDS)),
    }


def panels_of(data: WordSwapPageData, question: str) -> dict[str, str]:
    """The views of a chart of shuffles: the mean over encodings that learnt the question, and each encoding."""
    whole = {"all that learnt it": POOLED} if data.mean(POOLED, question, "whole", "change") else {}
    names = [encoding.name for encoding in data.encodings]
    return whole | {name: name for name in names if data.mean(name, question, "whole", "change")}


def _role_swaps(data: WordSwapPageData) -> Iterator[dict[str, Any]]:
    """Accuracy on the same examples before and after agent and patient are swapped."""
    states = {"as it is": (ROLE_SWAP, "before"), "exchanged": (ROLE_SWAP, "accuracy")}
    for question in data.questions:
        for order, encoding in enumerate(data.encodings):
            for state, (swap, measure) in states.items():
                row = data.mean(encoding.name, question, swap, measure)
                if row:
                    tooltip = f"{encoding.name}, {STATES[state]}: {share(row)} right"
                    ends = {end: None if row[end] is None else 100 * row[end] for end in ("value", "low", "high")}
                    shows = {"question": question, "encoding": encoding.name, "order": order, "state": state}
                    yield {**shows, **ends, "said": tooltip}


def _levels(data: WordSwapPageData) -> Iterator[dict[str, Any]]:
    for question in data.questions:
        level = data.bag(question)
        if level is not None:
            tooltip = f"bag of words, at most: {percent(level)}"
            yield {"question": question, "value": 100 * level, "said": tooltip}


def _changes(data: WordSwapPageData) -> Iterator[dict[str, Any]]:
    """What shuffles cost, by size, with their controls."""
    for question in data.questions:
        for title, subject in panels_of(data, question).items():
            for kind, measure in (("swap", "change"), ("control", "control change")):
                for order, size in enumerate(SIZES):
                    row = data.mean(subject, question, size, measure)
                    if row:
                        tooltip = (
                            f"{title}, {LINES[size]}, {'shuffled' if kind == 'swap' else 'control'}: {points(row)}"
                        )
                        ends = {end: None if row[end] is None else 100 * row[end] for end in ("value", "low", "high")}
                        yield {
                            "panel": subject,
                            "measure": question,
                            "set": "all",
                            "kind": kind,
                            "line": LINES[size],
                            "order": order,
                            **ends,
                            "said": tooltip,
                        }


def _published() -> Iterator[dict[str, Any]]:
    """Published changes, shown with nets fine-tuned on content, which a bag of words decides, as for those models."""
    for model, changes in published.CHANGES.items():
        for order, (size, change) in enumerate(zip(SIZES, changes, strict=True)):
            tooltip = f"{model}, published: {change:+.1f} points".replace("-", "−")
            yield {"measure": "content", "line": LINES[size], "order": order, "value": change, "said": tooltip}


def _sides(data: WordSwapPageData) -> Iterator[dict[str, Any]]:
    """Curves of the same locality after a role swap, by s."""
    for question in data.questions:
        for locality, curve in data.curves:
            for measure in ("accuracy", "followed", "shift"):
                row = data.mean(curve.name, question, ROLE_SWAP, measure)
                if row:
                    ends = {end: None if row[end] is None else 100 * row[end] for end in ("value", "low", "high")}
                    yield {
                        "question": question,
                        "locality": f"{locality:g}",
                        "s": curve.side,
                        "measure": measure,
                        **ends,
                        "said": f"{curve.name}, locality {locality:g}: {share(row)}",
                    }
