"""A few rows in words: where the best heads look in a sentence, beside where they should."""

from typing import Any

from wherewhat.probing.dependencies.gold import ALL, SIDES
from wherewhat.probing.dependencies.scoring import Held, Scoring

MOST = 6  # relations
SHORTEST, LONGEST = 5, 14  # kept words of a sentence that is easily taken in


def examples_of(scoring: Scoring, data: str) -> list[dict[str, Any]]:
    """For the most frequent relations the first sentence of a good length that has one, whatever heads make of it."""
    found, used = list[dict[str, Any]](), set[int]()
    for group in (group for group in scoring.groups if group.item != ALL and group.distance == ALL):
        if group.side == SIDES[0] and len(found) < MOST:
            row = next((row for row in group.rows_N.tolist() if _good(scoring, row, used)), None)
            if row is not None:
                used.add(int(scoring.rows.sentence_N[row]))
                about = {"data": data, "item": group.item, "side": group.side}
                found.append(about | _told(scoring, row, scoring.held(group)))
    return found


def _good(scoring: Scoring, row: int, used: set[int]) -> bool:
    sentence = int(scoring.rows.sentence_N[row])
    return sentence not in used and SHORTEST <= len(scoring.sentences[sentence].kept) <= LONGEST


def _told(scoring: Scoring, row: int, held: dict[str, Held]) -> dict[str, Any]:
    """The words, where the row starts, where its partner is, and where each part's head looks."""
    rows, looked = scoring.rows, scoring.looked
    sentence, half = int(rows.sentence_N[row]), int(rows.half_N[row])
    to = int(rows.to_N[row])
    heads = {part: held[part].chosen[half % len(held[part].chosen)] for part in scoring.looked_parts if part in held}
    return {
        "words": list(scoring.sentences[sentence].words),
        "from": to - int(rows.offset_N[row]),
        "to": to,
        "looked": {part: int(looked.looks[part][rows.from_N[row], head]) for part, head in heads.items()},
        "head": {part: looked.names([head])[0] for part, head in heads.items()},
    }
