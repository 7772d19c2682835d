"""Semantic roles as proposition banks mark them: from marks on words, or on spans, to predicates with roles.

Two forms are read. Universal Propositions of English keep them in the last column (`Roleset=see.01|Args=V/_`), one slot
per predicate, which is the word with V. Those of other languages add columns: the tenth names the roleset, and
every further one holds the marks of one predicate, in the order of the predicates.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wherewhat.corpora.dependency_tree import subtree
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


class MarkedSpan(NamedTuple):
    """Words that are marked for a predicate together."""

    mark: str
    start: int
    end: int
    head: int


class RoleSyntax(NamedTuple):
    """The columns of a sentence that decide its roles."""

    lemma: Sequence[str]
    upos: Sequence[str]
    head: Sequence[int]
    deprel: Sequence[str]
    passive: Sequence[bool]  # whether a word itself is marked so


def marks_of(words: Sequence[Mapping[str, Any]]) -> list[Marks] | None:
    """The marks of a sentence in either form; None where columns and predicates do not match."""
    rows = [word["cells"][TENTH:] for word in words]
    if any(len(row) > 1 for row in rows):
        for named_in in (0, 1):  # from the tenth column on; some files name the roleset in the eleventh
            names = [row[named_in] for row in rows if len(row) > named_in]
            at = [place for place, name in enumerate(names) if ROLESET.match(name)]
            if all(len(row) == named_in + 1 + len(at) for row in rows) and (at or set(names) <= set(NOTHING)):
                columns = [[row[named_in + 1 + slot] for row in rows] for slot in range(len(at))]
                pairs = zip(at, columns, strict=True)
                return [Marks(verb, _arguments(list(enumerate(column)))) for verb, column in pairs]
        return None
    slots = [((word["misc"] or {}).get("Args") or "").split("/") for word in words]
    predicates = list[Marks]()
    for slot in range(max(map(len, slots))):
        marks = [(place, held[slot]) for place, held in enumerate(slots) if slot < len(held)]
        verb = next((place for place, mark in marks if mark == "V"), None)
        if verb is not None:
            predicates.append(Marks(verb, _arguments(marks)))
    return predicates


def _arguments(marks: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(place, mark) for place, mark in marks if mark not in (*NOTHING, "V")]


def predicates_of_words(marked: Sequence[Marks], syntax: RoleSyntax) -> tuple[Predicate, ...]:
    """The verbs with their roles, from marks on the heads of arguments: an argument is the subtree of its head.

    The subtree of the predicate is cut off, and an argument in several pieces is left out.
    """

    def spans_of(predicate: Marks) -> Iterator[MarkedSpan]:
        for place, mark in predicate.marks:
            words = subtree(syntax.head, place, without=predicate.verb)
            if words and words[-1] - words[0] + 1 == len(words):
                yield MarkedSpan(mark, words[0], words[-1] + 1, place)
            else:
                yield MarkedSpan(f"C-{mark}", place, place + 1, place)  # as banks say that a role goes on elsewhere

    return tuple(
        predicate_of(predicate.verb, list(spans_of(predicate)), syntax)
        for predicate in marked
        if syntax.upos[predicate.verb] in VERBS
    )


def predicate_of(index: int, spans: Sequence[MarkedSpan], syntax: RoleSyntax) -> Predicate:
    """A predicate with the roles of marked spans.

    A role in several pieces is left out. Where a relative pronoun fills a role, the role is the pronoun's, and its head
    is what the pronoun stands for. Adpositions at the edge of an argument are left out, as they only mark its role.
    """
    by_mark = {span.mark: span for span in reversed(spans)}
    times = Counter(span.mark for span in spans)
    broken = {mark for mark in times if times[mark] > 1}
    broken |= {mark[2:].removeprefix("R-") for mark in times if mark.startswith("C-")}
    relative = {mark[2:] for mark in by_mark if mark.startswith("R-")}
    roles = list[Role]()
    for mark, span in sorted(by_mark.items(), key=lambda item: item[1].start):
        bare = mark.removeprefix("R-")
        if mark.startswith("C-") or bare in broken or mark in relative:
            continue
        name, start, end = ROLE_OF.get(bare, bare.lower()), *_without_adpositions(span, syntax)
        head = by_mark.get(bare, span).head
        roles.append(Role(name, start, end, head, "direct" if mark == bare else "relative"))
    order = sorted(roles, key=lambda role: (role.role != "agent", role.role != "patient"))
    under = (relation for relation, head in zip(syntax.deprel, syntax.head, strict=True) if head == index + 1)
    voice = "passive" if syntax.passive[index] or any(map(PASSIVE.match, under)) else "active"
    return Predicate(index, syntax.lemma[index], voice, tuple(order))


def _without_adpositions(span: MarkedSpan, syntax: RoleSyntax) -> tuple[int, int]:
    outside = set[int]()

    def is_adposition(place: int) -> bool:
        head, relation = syntax.head[place] - 1, syntax.deprel[place].partition(":")[0]
        if (relation == "case" and head == span.head) or head in outside:  # "because of": of depends on because
            outside.add(place)
        return place in outside

    start, end = span.start, span.end
    while start < span.head and is_adposition(start):
        start += 1
    while end - 1 > span.head and is_adposition(end - 1):
        end -= 1
    return start, end
