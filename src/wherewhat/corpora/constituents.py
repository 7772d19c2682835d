"""Constituents with heads: one tree from which the brackets, dependencies and roles of a sentence follow.

Every part of a constituent is its head or depends on that head, by a named relation. So the dependencies follow from
the constituents, and the roles and the agreement follow from the dependencies.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from typing import NamedTuple

from wherewhat.corpora.sentence import Annotation, Predicate, Role, Sentence

HEAD = "head"  # the relation of the part that is the head
ROLES = ("agent", "patient", "recipient", "content")  # in the order in which a predicate lists them
ROLE_OF = {
    "nsubj": "agent",
    "obj": "patient",
    "iobj": "recipient",
    "nsubj:pass": "patient",
    "obl:agent": "agent",
    "ccomp": "content",
}
PRONOUNS = ("WP", "WDT")


class Leaf(NamedTuple):
    """A word form as the lexicon has it."""

    form: str
    lemma: str
    upos: str
    xpos: str
    number: str | None = None


class Constituent(NamedTuple):
    """A label, and the parts with their relation to the head."""

    label: str
    parts: "tuple[tuple[str, Constituent | Leaf], ...]"


def leaves(node: Constituent | Leaf) -> Iterator[Leaf]:
    """The words in their order."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            yield node
        else:
            stack.extend([part for _, part in reversed(node.parts)])


def brackets(node: Constituent | Leaf) -> str:
    """The tree in brackets, as treebanks write it.

    >>> the, cat = Leaf("the", "the", "DET", "DT"), Leaf("cat", "cat", "NOUN", "NN")
    >>> brackets(Constituent("NP", (("det", the), (HEAD, cat))))
    '(NP (DT the) (NN cat))'
    """
    if isinstance(node, Leaf):
        return f"({node.xpos} {node.form})"
    return f"({node.label} {' '.join(brackets(part) for _, part in node.parts)})"


def sentence_of(root: Constituent, where: str) -> Sentence:
    """The words of a tree at once, and the annotation when it is first needed."""
    return Sentence(tuple([leaf.form for leaf in leaves(root)]), where, partial(annotate, root))


def with_leaves(root: Constituent, others: Mapping[int, Leaf]) -> Constituent:
    """The tree with other words in some places."""
    numbers = count()

    def visit(node: Constituent) -> Constituent:
        return Constituent(node.label, tuple((relation, part_of(part)) for relation, part in node.parts))

    def part_of(part: Constituent | Leaf) -> Constituent | Leaf:
        return others.get(next(numbers), part) if isinstance(part, Leaf) else visit(part)

    return visit(root)


class _Arcs:
    """The constituents and dependencies of a tree, read from left to right."""

    def __init__(self, root: Constituent) -> None:
        self.words: list[Leaf] = []
        self.head_of: dict[int, int] = {}
        self.relation: dict[int, str] = {}
        self.constituents: list[tuple[str, int, int, int]] = []  # label, start, end, head
        top = self._visit(root)
        self.head_of[top], self.relation[top] = -1, "root"

    def _visit(self, node: Constituent | Leaf) -> int:
        """Add a part and everything in it; return the token at its head."""
        start = len(self.words)
        if isinstance(node, Leaf):
            self.words.append(node)
            return start
        place = len(self.constituents)
        self.constituents.append((node.label, start, start, start))  # outer before inner; filled in below
        heads = [(relation, self._visit(part)) for relation, part in node.parts]
        head = next(token for relation, token in heads if relation == HEAD)
        for relation, token in heads:
            if relation != HEAD:
                self.head_of[token], self.relation[token] = head, relation
        self.constituents[place] = (node.label, start, len(self.words), head)
        return head

    def role(self, token: int) -> tuple[int, Role] | None:
        """The predicate that a token depends on, and its role there, if any."""
        relation, verb = self.relation[token], self.head_of[token]
        name = ROLE_OF.get(relation) or ("recipient" if relation == "obl" and self._led_by_to(token) else None)
        if name is None:
            return None
        if self.words[token].xpos in PRONOUNS:
            return verb, Role(name, token, token + 1, self.head_of[verb], "relative")
        label = "S" if name == "content" else "NP"
        start, end = next((s, e) for kind, s, e, head in self.constituents if kind == label and head == token)
        return verb, Role(name, start, end, token, "direct")

    def _led_by_to(self, token: int) -> bool:
        return any(
            self.head_of[other] == token and self.relation[other] == "case" and word.form == "to"
            for other, word in enumerate(self.words)
        )

    def controller(self, verb: int) -> int:
        """The noun that a finite verb agrees with."""
        predicate = self.head_of[verb] if self.relation[verb] == "aux:pass" else verb
        subject = next(t for t, of in self.head_of.items() if of == predicate and self.relation[t].startswith("nsubj"))
        return self.head_of[predicate] if self.words[subject].xpos in PRONOUNS else subject


def annotate(root: Constituent) -> Annotation:
    """The annotation that follows from a tree."""
    arcs = _Arcs(root)
    tokens = range(len(arcs.words))
    roles: dict[int, list[Role]] = {t: [] for t in tokens if arcs.words[t].upos == "VERB"}
    for token in tokens:
        if role := arcs.role(token):
            roles[role[0]].append(role[1])
    finite = [t for t in tokens if arcs.words[t].number and arcs.words[t].upos in ("VERB", "AUX")]
    return Annotation(
        lemma=tuple(word.lemma for word in arcs.words),
        upos=tuple(word.upos for word in arcs.words),
        xpos=tuple(word.xpos for word in arcs.words),
        number=tuple(word.number for word in arcs.words),
        head=tuple(arcs.head_of[token] + 1 for token in tokens),
        deprel=tuple(arcs.relation[token] for token in tokens),
        tree=brackets(root),
        spans=tuple((label, start, end) for label, start, end, _ in arcs.constituents),
        preds=tuple(
            Predicate(
                index=verb,
                lemma=arcs.words[verb].lemma,
                voice="passive" if arcs.words[verb].xpos == "VBN" else "active",
                roles=tuple(sorted(held, key=lambda role: ROLES.index(role.role))),
            )
            for verb, held in roles.items()
        ),
        agree=tuple((verb, arcs.controller(verb)) for verb in finite),
    )
