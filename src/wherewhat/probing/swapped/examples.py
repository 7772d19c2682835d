"""A few cases to look at: what was read before and after a swap, and what the model made of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wherewhat.probing.swapped.numbers import CONTROL, ORIGINAL, SWAPPED, Floats
from wherewhat.probing.swapped.outcome import NOWHERE, Outcome
from wherewhat.probing.swapped.trials import Reading, Turned

EACH = 3  # so many as they come, and so many that moved the model most
ANSWERS_FIRST = 1000.0  # a changed answer counts before every distance
DIGITS = 6


def examples(found: Outcome) -> list[dict[str, Any]]:
    """Some trials of an item: the first ones, and those that moved the model most."""
    first = list(range(min(EACH, len(found.item.trials))))
    strongest = np.argsort(-_moved(found), kind="stable")
    most = [int(number) for number in strongest if int(number) not in first][:EACH]
    return [_example(found, number, "first") for number in first] + [
        _example(found, number, "most moved") for number in most
    ]


def _moved(found: Outcome) -> Floats:
    """By how much each swap changed what the model says."""
    library, before_N, after_N = found.library, found.kinds[ORIGINAL], found.kinds[SWAPPED]
    apart_N = np.nan_to_num(library.apart(after_N, before_N))
    if library.heard.nats_N is not None and library.heard.tokens_N is not None:
        a_token_N = library.heard.nats_N / np.maximum(library.heard.tokens_N, 1)
        return np.asarray(a_token_N[after_N] - a_token_N[before_N])
    if library.heard.answer_N is None:
        return apart_N
    changed_N = (library.answers(before_N) != library.answers(after_N)).astype(np.float64)
    return np.asarray(apart_N + ANSWERS_FIRST * changed_N)


def _example(found: Outcome, number: int, chosen: str) -> dict[str, Any]:
    trial, data = found.item.trials[number], found.library.data
    case = data.cases[trial.case]
    return {
        "data": data.name,
        "item": found.item.name,
        "where": case.where,
        "chosen": chosen,
        "label": case.label or None,
        "new": trial.answer or None,
        "sentences": [
            _sentence(list(sentence.words), trial.swapped, trial.control, place)
            for place, sentence in enumerate(case.sentences)
        ],
        "said": {kind: _said(found, kind, number) for kind in (ORIGINAL, SWAPPED, CONTROL)},
    }


def _sentence(words: list[str], swapped: Reading, control: Reading | None, place: int) -> dict[str, Any]:
    now, other = swapped[place], None if control is None else control[place]
    told: dict[str, Any] = {
        "words": words,
        "swapped": list(now.words),
        "order": _listed(now.order),
        "spans": _spans(now),
    }
    told |= {"roles": {name: list(span) for name, span in now.roles.items()}} if now.roles else {}
    if other is None:
        return told | {"control": None, "control_order": None, "control_spans": None}
    beside = {"control": list(other.words), "control_order": _listed(other.order), "control_spans": _spans(other)}
    return told | beside


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _spans(turned: Turned) -> list[list[int]]:
    return [list(span) for span in turned.spans]


def _said(found: Outcome, kind: str, number: int) -> dict[str, Any] | None:
    """What the model made of one text."""
    place = found.kinds[kind][number] if kind in found.kinds else NOWHERE
    if place == NOWHERE:
        return None
    heard, library = found.library.heard, found.library
    apart = library.apart(np.array([place]), found.kinds[ORIGINAL][[number]])[0]
    told: dict[str, Any] = {"label": None, "nats": None, "distance": _rounded(apart)}
    if heard.answer_N is not None:
        told["label"] = library.reader.labels[heard.answer_N[place]]
    if heard.nats_N is not None and heard.tokens_N is not None:
        told["nats"] = _rounded(heard.nats_N[place] / max(1.0, heard.tokens_N[place]))
    return told


def _rounded(value: float) -> float | None:
    return round(float(value), DIGITS) if np.isfinite(value) else None
