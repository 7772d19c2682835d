"""The numbers that the charts of swapped words draw."""

from collections.abc import Iterator, Mapping
from typing import Any

from wherewhat.report import probe_published as published
from wherewhat.report.drawn import columns
from wherewhat.report.locality_said import points, right
from wherewhat.report.numbers import percent
from wherewhat.report.page import Columns
from wherewhat.report.word_swap_study import EXCHANGE, POOLED, SIZES, WordSwap

ENDS = ("value", "low", "high", "said")
LINES = {size: f"{size} words" for size in SIZES} | {"whole": "whole sentence"}


def tables_of(found: WordSwap) -> Mapping[str, Columns]:
    """Every table of the page by name."""
    return {
        "exchanged": columns(_exchanged(found), ("question", "encoding", "order", "state", *ENDS)),
        "levels": columns(_levels(found), ("question", "value", "said")),
        "changes": columns(_changes(found), ("panel", "measure", "set", "kind", "line", "order", *ENDS)),
        "published": columns(_published(), ("measure", "line", "order", "value", "said")),
        "sides": columns(_sides(found), ("question", "locality", "s", "measure", *ENDS)),
    }


def panels_of(found: WordSwap, question: str) -> dict[str, str]:
    """What can be looked at one by one: all encodings that learnt a question together, and each."""
    whole = {"all that learnt it": POOLED} if found.mean(POOLED, question, "whole", "change") else {}
    return whole | {one.name: one.name for one in found.subjects if found.mean(one.name, question, "whole", "change")}


def _exchanged(found: WordSwap) -> Iterator[dict[str, Any]]:
    """Right answers to the same pairs before and after agent and patient change places."""
    states = {"as it is": (EXCHANGE, "before"), "exchanged": (EXCHANGE, "accuracy")}
    for question in found.questions:
        for order, one in enumerate(found.subjects):
            for state, (swap, measure) in states.items():
                row = found.mean(one.name, question, swap, measure)
                if row:
                    said = f"{one.name}, {state}: {right(row)} right"
                    ends = {end: None if row[end] is None else 100 * row[end] for end in ("value", "low", "high")}
                    yield {"question": question, "encoding": one.name, "order": order, "state": state, **ends} | {
                        "said": said
                    }


def _levels(found: WordSwap) -> Iterator[dict[str, Any]]:
    for question in found.questions:
        level = found.bag(question)
        if level is not None:
            said = f"all that words alone can tell: {percent(level)}"
            yield {"question": question, "value": 100 * level, "said": said}


def _changes(found: WordSwap) -> Iterator[dict[str, Any]]:
    """What shuffles cost, by size, beside their controls."""
    for question in found.questions:
        for title, subject in panels_of(found, question).items():
            for kind, measure in (("swap", "change"), ("control", "control change")):
                for order, size in enumerate(SIZES):
                    row = found.mean(subject, question, size, measure)
                    if row:
                        said = f"{title}, {LINES[size]}, {'shuffled' if kind == 'swap' else 'control'}: {points(row)}"
                        ends = {end: None if row[end] is None else 100 * row[end] for end in ("value", "low", "high")}
                        yield {
                            "panel": subject,
                            "measure": question,
                            "set": "all",
                            "kind": kind,
                            "line": LINES[size],
                            "order": order,
                            **ends,
                            "said": said,
                        }


def _published() -> Iterator[dict[str, Any]]:
    """Published changes stand beside nets that were fine-tuned on what words decide, as those models were."""
    for model, changes in published.CHANGES.items():
        for order, (size, change) in enumerate(zip(SIZES, changes, strict=True)):
            said = f"{model}, published: {change:+.1f} points".replace("-", "−")
            yield {"measure": "content", "line": LINES[size], "order": order, "value": change, "said": said}


def _sides(found: WordSwap) -> Iterator[dict[str, Any]]:
    """What curves of one locality do after an exchange, by s."""
    for question in found.questions:
        for locality, one in found.curves:
            for measure in ("accuracy", "followed", "shift"):
                row = found.mean(one.name, question, EXCHANGE, measure)
                if row:
                    ends = {end: None if row[end] is None else 100 * row[end] for end in ("value", "low", "high")}
                    yield {
                        "question": question,
                        "locality": f"{locality:g}",
                        "s": one.side,
                        "measure": measure,
                        **ends,
                        "said": f"{one.name}, locality {locality:g}: {right(row)}",
                    }
