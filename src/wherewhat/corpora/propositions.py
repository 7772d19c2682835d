"""Who does what to whom, as proposition banks mark it: from marks on words, or on stretches, to predicates with roles.

Two forms are read. Universal Propositions of English keep them in the last column (`Roleset=see.01|Args=V/_`), one slot
for every predicate, which is the word with V. Those of other languages add columns: the tenth names the roleset, and
every further one holds the marks of one predicate, in the order of the predicates.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wherewhat.corpora.arcs import below
from wherewhat.corpora.sentence import Predicate, Role

ROLE_OF = {"ARG0": "agent", "ARG1": "patient", "A0": "agent", "A1": "patient"}  # others keep their name
VERBS = ("VERB", "AUX")
PASSIVE = re.compile(r"(nsubj|csubj|aux):?pass$|obl:agent$")
ROLESET = re.compile(r"[^|=]+\.\w+$")
NOTHING = ("", "_", "-")
TENTH = 9  # counted from 0: the last column of CoNLL-U


class Marks(NamedTuple):
    """A predicate and the words that are marked for it."""

    verb: int
    marks: list[tuple[int, str]]  # word, and what it is marked with


class Stretch(NamedTuple):
    """Words that are marked for a predicate together."""

    mark: str
    start: int
    end: int
    head: int


class Syntax(NamedTuple):
    """What of a sentence decides on the roles in it."""

    lemma: Sequence[str]
    upos: Sequence[str]
    head: Sequence[int]
    deprel: Sequence[str]
    passive: Sequence[bool]  # whether a word itself says so


def marks_of(words: Sequence[Mapping[str, Any]]) -> list[Marks] | None:
    """The marks of a sentence, whatever form they have; None where columns and predicates do not fit together."""
    rows = [word["cells"][TENTH:] for word in words]
    if any(len(row) > 1 for row in rows):
        return _in_columns(rows)
    slots = [((word["misc"] or {}).get("Args") or "").split("/") for word in words]
    found = list[Marks]()
    for slot in range(max(map(len, slots))):
        marks = [(place, held[slot]) for place, held in enumerate(slots) if slot < len(held)]
        verb = next((place for place, mark in marks if mark == "V"), None)
        if verb is not None:
            found.append(Marks(verb, _told(marks)))
    return found


def _in_columns(rows: Sequence[Sequence[str]]) -> list[Marks] | None:
    """From the tenth column on; some files name the roleset in the eleventh."""
    for named_in in (0, 1):
        names = [row[named_in] for row in rows if len(row) > named_in]
        at = [place for place, name in enumerate(names) if ROLESET.match(name)]
        if all(len(row) == named_in + 1 + len(at) for row in rows) and (at or set(names) <= set(NOTHING)):
            columns = [[row[named_in + 1 + slot] for row in rows] for slot in range(len(at))]
            return [Marks(verb, _told(list(enumerate(column)))) for verb, column in zip(at, columns, strict=True)]
    return None


def _told(marks: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(place, mark) for place, mark in marks if mark not in (*NOTHING, "V")]


def predicates_of_words(found: Sequence[Marks], syntax: Syntax) -> tuple[Predicate, ...]:
    """The verbs with their roles, from marks on the heads of phrases: a phrase is all that depends on its head.

    What depends on the predicate is cut off, and a phrase in several pieces is left out.
    """

    def stretches(one: Marks) -> Iterator[Stretch]:
        for place, mark in one.marks:
            phrase = below(syntax.head, place, without=one.verb)
            if phrase and phrase[-1] - phrase[0] + 1 == len(phrase):
                yield Stretch(mark, phrase[0], phrase[-1] + 1, place)
            else:
                yield Stretch(f"C-{mark}", place, place + 1, place)  # as banks say that a role goes on elsewhere

    return tuple(
        predicate_of(one.verb, list(stretches(one)), syntax) for one in found if syntax.upos[one.verb] in VERBS
    )


def predicate_of(index: int, stretches: Sequence[Stretch], syntax: Syntax) -> Predicate:
    """A predicate with the roles that stretches of words have in it.

    A role in several pieces is left out. Where a relative pronoun fills a role, the role is the pronoun's, and its head
    is what the pronoun stands for. Adpositions at the edge of a phrase are left outside, as they say what its role is.
    """
    told = {stretch.mark: stretch for stretch in reversed(stretches)}
    times = Counter(stretch.mark for stretch in stretches)
    broken = {mark for mark in times if times[mark] > 1}
    broken |= {mark[2:].removeprefix("R-") for mark in times if mark.startswith("C-")}
    relative = {mark[2:] for mark in told if mark.startswith("R-")}
    roles = list[Role]()
    for mark, one in sorted(told.items(), key=lambda item: item[1].start):
        bare = mark.removeprefix("R-")
        if mark.startswith("C-") or bare in broken or mark in relative:
            continue
        name, start, end = ROLE_OF.get(bare, bare.lower()), *_without_case(one, syntax)
        head = told.get(bare, one).head
        roles.append(Role(name, start, end, head, "direct" if mark == bare else "relative"))
    order = sorted(roles, key=lambda role: (role.role != "agent", role.role != "patient"))
    return Predicate(index, syntax.lemma[index], _voice(index, syntax), tuple(order))


def _without_case(one: Stretch, syntax: Syntax) -> tuple[int, int]:
    outside = set[int]()

    def is_case(place: int) -> bool:
        governor, relation = syntax.head[place] - 1, syntax.deprel[place].partition(":")[0]
        if (relation == "case" and governor == one.head) or governor in outside:  # "because of": of depends on because
            outside.add(place)
        return place in outside

    start, end = one.start, one.end
    while start < one.head and is_case(start):
        start += 1
    while end - 1 > one.head and is_case(end - 1):
        end -= 1
    return start, end


def _voice(index: int, syntax: Syntax) -> str:
    under = (relation for relation, head in zip(syntax.deprel, syntax.head, strict=True) if head == index + 1)
    return "passive" if syntax.passive[index] or any(map(PASSIVE.match, under)) else "active"
