"""Made-up probes of shuffled words and exchanged roles: of models that read order, and of models that do not."""

from dataclasses import dataclass
from typing import Any

import polars as pl
from synthetic_probes import HOSTILE, Row

from wherewhat.tables.schema import PROBE, frame

SIZES = ("3", "4", "5", "6", "whole")
LABELS = ("entailed", "reversed", HOSTILE)


@dataclass(frozen=True)
class Reader:
    """A model that reads order, or one that does not: by how much swaps move it."""

    way: str = "labels"
    right: float = 0.82
    loses: float = 0.04  # of right answers a word of the phrase; in nats, ten times as much
    follows: float = 0.8  # right answers by the new label when roles are exchanged
    datas: tuple[str, ...] = ("grammar",)


READS_ORDER = Reader()
BLIND = Reader(right=0.64, loses=0.0, follows=0.3)


def _measures(reader: Reader) -> tuple[str, ...]:
    return {"labels": ("accuracy", "kept", "distance"), "states": ("distance",)}.get(reader.way, ("nats", "distance"))


def words(reader: Reader = READS_ORDER) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table of the probe of shuffled phrases, and its manifest."""
    rows: list[Row] = []
    for data in reader.datas:
        for number, item in enumerate(SIZES):
            many = 600 - 100 * number
            for measure in _measures(reader):
                for side in (None, "every size", *(LABELS if reader.way == "labels" else ())):
                    where = ("words", data, item, side)
                    rows += _swap_rows(reader, where, measure, (number + 1, many)) + _alone(where, measure, many)
            for kind in ("swapped", "control"):
                rows.append(_swap(("words", data, item, None), kind, "moved", 0.1 * (number + 1), 0.01, many))
                rows.append(_swap(("words", data, item, None), kind, "reach", 0.3 * (number + 1), 0.1, many))
    return frame(rows, PROBE), _swap_manifest(reader, "words", _shuffled_examples(reader))


def _alone(where: tuple[Any, ...], measure: str, many: int) -> list[Row]:
    """What the words alone tell, of cases with several labels."""
    if measure != "accuracy" or where[-1] in LABELS:
        return []
    value = 0.5 if where[-1] == "label changes" else 2 / 3
    return [_swap(where, "words alone", "accuracy", value, float("nan"), many)]


def _swap_rows(reader: Reader, where: tuple[Any, ...], measure: str, size: tuple[int, int]) -> list[Row]:
    steps, many = size
    reach = 0.7 / many**0.5
    change = reader.loses * steps
    if measure == "accuracy":
        kinds = {"original": reader.right, "swapped": reader.right - change, "control": reader.right - 0.5 * change}
        kinds |= {"change": -change, "control change": -0.5 * change, "beyond control": -0.5 * change}
    elif measure == "nats":
        kinds = {"original": 3.2, "swapped": 3.2 + 10 * change, "control": 3.2 + 5 * change}
        kinds |= {"change": 10 * change, "control change": 5 * change, "beyond control": 5 * change}
    else:
        top = 1 - change if measure == "kept" else 3 * change
        kinds = {"swapped": top, "control": 0.9 * top, "beyond control": 0.1 * top}
    return [_swap(where, kind, measure, value, reach, many) for kind, value in kinds.items()]


def _swap(where: tuple[Any, ...], kind: str, measure: str, value: float, reach: float, many: int) -> Row:
    probe, data, item, side = where
    numbers = (value, value - reach, value + reach, many)
    return (probe, "a <b>model</b>", data, item, None, None, side, kind, None, measure, *numbers)


def roles(reader: Reader = READS_ORDER) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table of the probe of exchanged roles, and its manifest."""
    rows: list[Row] = []
    for data in reader.datas:
        for item in ("roles", "voice"):
            sides = (
                (None, *LABELS, "label changes", "active voice", "passive voice") if reader.way == "labels" else (None,)
            )
            for side in sides:
                rows += _role_rows(reader, ("roles", data, item, side))
                rows += _alone(("roles", data, item, side), "accuracy", 400) if reader.way == "labels" else []
    return frame(rows, PROBE), _swap_manifest(reader, "roles", _role_examples(reader))


def _role_rows(reader: Reader, where: tuple[Any, ...]) -> list[Row]:
    voice = where[2] == "voice"
    made: dict[str, dict[str, float]] = {}
    if reader.way == "labels":
        after = reader.right if voice else reader.follows
        old = 0.1 if voice else 1 - reader.follows
        made["accuracy"] = {"original": reader.right, "swapped": after, "change": after - reader.right}
        made["flip"] = {"swapped": 0.08 if voice else reader.follows}
        made["old label"] = {} if voice else {"swapped": old}
        if not voice:
            made["accuracy"] |= {"control": reader.right - 0.1, "control change": -0.1, "beyond control": after - 0.7}
            made["flip"] |= {"control": 0.12, "beyond control": reader.follows - 0.12}
    if reader.way in ("masked", "next"):
        made["nats"] = {"original": 3.2, "swapped": 3.5, "change": 0.3}
        made["nats"] |= {} if voice else {"control": 3.9, "control change": 0.7, "beyond control": -0.4}
    made["distance"] = {"swapped": 0.2} | ({} if voice else {"control": 0.3, "beyond control": -0.1})
    return [_swap(where, kind, name, value, 0.03, 400) for name, its in made.items() for kind, value in its.items()]


def _said(reader: Reader, label: str, nats: float) -> dict[str, Any]:
    labels = reader.way == "labels"
    loud = reader.way in ("masked", "next")
    return {"label": label if labels else None, "nats": nats if loud else None, "distance": round(nats - 3.1, 3)}


def _shuffled_examples(reader: Reader) -> list[dict[str, Any]]:
    first = ["some", "sailors", "beside", "the", "green", "house", "are", "visited", "by", "many", "nurses"]
    first += ["who", "rosa", "calls", "."]
    phrase = {"words": first, "order": [0, 1, 2, 4, 5, 3, 6, 7, 8, 9, 10, 12, 11, 13, 14], "spans": [[3, 6], [11, 14]]}
    control = {"control_order": [1, 2, 0, *range(3, 15)], "control_spans": [[0, 3]]}
    whole = {"words": first, "order": [3, 12, 6, 2, 4, 13, 7, 1, 0, 9, 11, 5, 10, 8, 14], "spans": [[0, 14]]}
    arabic = {"words": ["كتب", "الولد", "الصغير", "الرسالة", "."], "order": [0, 2, 1, 3, 4], "spans": [[1, 3]]}
    wild = {"words": ["a", HOSTILE, "b", "."], "order": [1, 0, 2, 3], "spans": [[0, 2]]}
    plain = {"words": ["the", "nurses", "visit", "the", "sailors", "."], "order": list(range(6)), "spans": []}
    made = []
    for item, sentences in (("3", [phrase | control, plain]), ("whole", [whole]), ("3", [arabic]), ("4", [wild])):
        told = [_with_words(one) for one in sentences]
        said = {"original": _said(reader, "entailed", 3.1), "swapped": _said(reader, "reversed", 3.9)}
        said["control"] = _said(reader, "entailed", 3.4)
        made.append(
            {
                "data": reader.datas[0],
                "item": item,
                "label": "entailed",
                "new": "entailed",
                "sentences": told,
                "said": said,
            }
        )
    return made


def _with_words(one: dict[str, Any]) -> dict[str, Any]:
    words = one["words"]
    control = one.get("control_order")
    return one | {
        "swapped": [words[old] for old in one["order"]],
        "control": [words[old] for old in control] if control else None,
    }


def _role_examples(reader: Reader) -> list[dict[str, Any]]:
    words = ["a", "small", "lawyer", "is", "followed", "by", "the", "cat", "."]
    exchanged = {"words": words, "order": [6, 7, 3, 4, 5, 0, 1, 2, 8], "spans": [[0, 3], [6, 8]]}
    named = {"roles": {"agent": [6, 8], "patient": [0, 3]}}
    voice = {
        "words": words,
        "swapped": ["the", "cat", "follows", "a", "small", "lawyer", "."],
        "order": None,
        "spans": [],
    }
    said = {"original": _said(reader, "entailed", 3.1), "swapped": _said(reader, "entailed", 3.3), "control": None}
    about = {"data": reader.datas[0], "label": "entailed", "said": said}
    return [
        {**about, "item": "roles", "new": "reversed", "sentences": [_with_words(exchanged) | named]},
        {**about, "item": "roles", "new": "reversed", "sentences": [_with_words(exchanged)]},
        {**about, "item": "voice", "new": "entailed", "sentences": [voice | named]},
    ]


def _items() -> dict[str, Any]:
    few = {"sentences": 600, "controls": 550, "left out": {"no phrase of <3> words": 300}}
    return {"3": few, "whole": {"sentences": 900, "controls": 0}}


def _swap_manifest(reader: Reader, probe: str, examples: list[dict[str, Any]]) -> dict[str, Any]:
    claim = {
        "claim": "Local order hardly matters.",
        "published": "−0.3 to −1.7 points",
        "ours": "−4",
        "verdict": "disagrees",
    }
    return {
        "probe": probe,
        "model": {"id": "a <b>model</b>", "layers": 2, "heads": 8, "labels": list(LABELS)},
        "way": reader.way,
        "asked": "It was asked which label a pair has.",
        "said": "Right answers fall.",
        "data": [
            {"name": data, "source": data, "sentences": 900, "words": 9000, "labelled": True, "swapped in": "both"}
            | {"labels": dict.fromkeys(LABELS, 300), "items": _items(), "skipped": {"no <verb>": 36}, "not needed": 200}
            for data in reader.datas
        ],
        "examples": examples,
        "claims": [{**claim, "why": ""}, {**claim, "verdict": "agrees", "why": "So it is."}],
        "notes": [],
        "settings": {"sizes": list(SIZES), "seed": 1},
        "command": f"wherewhat probe {probe} runs/nli",
    }
