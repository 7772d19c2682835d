"""Phrases with heads: one tree that knows the brackets, the dependencies and the roles of a sentence.

Every part of a phrase is its head or depends on that head, by a named relation. So the dependencies follow from the
phrases, and the roles and the agreement follow from the dependencies.
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
    """A word in its place in the dictionary."""

    form: str
    lemma: str
    upos: str
    xpos: str
    number: str | None = None


class Phrase(NamedTuple):
    """A label, and the parts with their relation to the head."""

    label: str
    parts: "tuple[tuple[str, Phrase | Leaf], ...]"


def leaves(node: Phrase | Leaf) -> Iterator[Leaf]:
    """The words in their order."""
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            yield node
        else:
            stack.extend([part for _, part in reversed(node.parts)])


def brackets(node: Phrase | Leaf) -> str:
    """The tree as it is written in treebanks.

    >>> brackets(Phrase("NP", (("det", Leaf("the", "the", "DET", "DT")), (HEAD, Leaf("cat", "cat", "NOUN", "NN")))))
    '(NP (DT the) (NN cat))'
    """
    if isinstance(node, Leaf):
        return f"({node.xpos} {node.form})"
    return f"({node.label} {' '.join(brackets(part) for _, part in node.parts)})"


def sentence_of(root: Phrase, where: str) -> Sentence:
    """The words of a tree at once, and the rest when it is asked for."""
    return Sentence(tuple([leaf.form for leaf in leaves(root)]), where, partial(annotate, root))


def with_leaves(root: Phrase, others: Mapping[int, Leaf]) -> Phrase:
    """The same tree with other words in some places."""
    numbers = count()

    def visit(phrase: Phrase) -> Phrase:
        return Phrase(phrase.label, tuple((relation, part_of(part)) for relation, part in phrase.parts))

    def part_of(part: Phrase | Leaf) -> Phrase | Leaf:
        return others.get(next(numbers), part) if isinstance(part, Leaf) else visit(part)

    return visit(root)


class _Arcs:
    """The phrases and dependencies of a tree, read from left to right."""

    def __init__(self, root: Phrase) -> None:
        self.words: list[Leaf] = []
        self.governor: dict[int, int] = {}
        self.relation: dict[int, str] = {}
        self.phrases: list[tuple[str, int, int, int]] = []  # label, start, end, head
        top = self._visit(root)
        self.governor[top], self.relation[top] = -1, "root"

    def _visit(self, node: Phrase | Leaf) -> int:
        """Take up a part and everything in it; return the token at its head."""
        start = len(self.words)
        if isinstance(node, Leaf):
            self.words.append(node)
            return start
        place = len(self.phrases)
        self.phrases.append((node.label, start, start, start))  # outer before inner; mended below
        heads = [(relation, self._visit(part)) for relation, part in node.parts]
        head = next(token for relation, token in heads if relation == HEAD)
        for relation, token in heads:
            if relation != HEAD:
                self.governor[token], self.relation[token] = head, relation
        self.phrases[place] = (node.label, start, len(self.words), head)
        return head

    def role(self, token: int) -> tuple[int, Role] | None:
        """The predicate that a token depends on, and the role that it has there, if any."""
        relation, verb = self.relation[token], self.governor[token]
        name = ROLE_OF.get(relation) or ("recipient" if relation == "obl" and self._led_by_to(token) else None)
        if name is None:
            return None
        if self.words[token].xpos in PRONOUNS:
            return verb, Role(name, token, token + 1, self.governor[verb], "relative")
        label = "S" if name == "content" else "NP"
        start, end = next((s, e) for found, s, e, head in self.phrases if found == label and head == token)
        return verb, Role(name, start, end, token, "direct")

    def _led_by_to(self, token: int) -> bool:
        return any(
            self.governor[other] == token and self.relation[other] == "case" and word.form == "to"
            for other, word in enumerate(self.words)
        )

    def controller(self, verb: int) -> int:
        """The noun that a finite verb agrees with."""
        predicate = self.governor[verb] if self.relation[verb] == "aux:pass" else verb
        subject = next(t for t, of in self.governor.items() if of == predicate and self.relation[t].startswith("nsubj"))
        return self.governor[predicate] if self.words[subject].xpos in PRONOUNS else subject


def annotate(root: Phrase) -> Annotation:
    """Everything that a tree says of its words."""
    arcs = _Arcs(root)
    tokens = range(len(arcs.words))
    finite = [t for t in tokens if arcs.words[t].number and arcs.words[t].upos in ("VERB", "AUX")]
    return Annotation(
        lemma=tuple(word.lemma for word in arcs.words),
        upos=tuple(word.upos for word in arcs.words),
        xpos=tuple(word.xpos for word in arcs.words),
        number=tuple(word.number for word in arcs.words),
        head=tuple(arcs.governor[token] + 1 for token in tokens),
        deprel=tuple(arcs.relation[token] for token in tokens),
        tree=brackets(root),
        spans=tuple((label, start, end) for label, start, end, _ in arcs.phrases),
        preds=_predicates(arcs),
        agree=tuple((verb, arcs.controller(verb)) for verb in finite),
    )


def _predicates(arcs: _Arcs) -> tuple[Predicate, ...]:
    """Every verb with its roles."""
    roles: dict[int, list[Role]] = {t: [] for t, word in enumerate(arcs.words) if word.upos == "VERB"}
    for token in range(len(arcs.words)):
        if found := arcs.role(token):
            roles[found[0]].append(found[1])
    return tuple(
        Predicate(
            index=verb,
            lemma=arcs.words[verb].lemma,
            voice="passive" if arcs.words[verb].xpos == "VBN" else "active",
            roles=tuple(sorted(held, key=lambda role: ROLES.index(role.role))),
        )
        for verb, held in roles.items()
    )
