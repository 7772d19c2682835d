"""Read trees in brackets, and answer from them alone who does what: a second opinion beside the room's own."""

from typing import Any

FINITE = ("VBZ", "VBP", "VBD")
Node = tuple[str, Any]  # label and children; a leaf is (tag, (word, slot))


def read(text: str) -> Node:
    """The tree that brackets write down."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    slots = iter(range(len(tokens)))

    def node(at: int) -> tuple[Node, int]:
        assert tokens[at] == "("
        label, at = tokens[at + 1], at + 2
        if tokens[at] != "(":
            return (label, (tokens[at], next(slots))), at + 2
        children = []
        while tokens[at] == "(":
            child, at = node(at)
            children.append(child)
        return (label, children), at + 1

    tree, end = node(0)
    assert end == len(tokens)
    return tree


def is_leaf(node: Node) -> bool:
    return isinstance(node[1], tuple)


def leaves(node: Node) -> list[tuple[str, str, int]]:
    """(tag, word, slot) from left to right."""
    if is_leaf(node):
        return [(node[0], *node[1])]
    return [leaf for child in node[1] for leaf in leaves(child)]


def span(node: Node) -> tuple[int, int]:
    slots = [slot for _, _, slot in leaves(node)]
    return slots[0], slots[-1] + 1


def noun(phrase: Node) -> tuple[str, str, int]:
    """The noun of a noun phrase: the last word of its first, innermost NP."""
    while not is_leaf(phrase[1][0]):
        phrase = phrase[1][0]
    return leaves(phrase)[-1]


def child(node: Node, label: str) -> Node | None:
    return next((part for part in node[1] if part[0] == label), None)


def main_clause(tree: Node) -> tuple[Node, Node]:
    """Subject and verb phrase of the whole sentence."""
    subject, verb_phrase = child(tree, "NP"), child(tree, "VP")
    assert subject and verb_phrase
    return subject, verb_phrase


def voice(verb_phrase: Node) -> str:
    return "passive" if child(verb_phrase, "VP") else "active"


def doer_and_done(tree: Node) -> tuple[Node, Node]:
    """The phrases of agent and patient of a main clause that has both."""
    subject, verb_phrase = main_clause(tree)
    if voice(verb_phrase) == "active":
        patient = child(verb_phrase, "NP")
        assert patient
        return subject, patient
    inner = child(verb_phrase, "VP")
    by = next(part for part in inner[1] if part[0] == "PP" and leaves(part)[0][1] == "by")
    return by[1][1], subject


def agreements(node: Node, before: Node | None = None) -> list[tuple[int, int]]:
    """(finite verb, noun) of every clause; `before` is the noun phrase that a relative clause is about."""
    if is_leaf(node):
        return []
    found = []
    if node[0] == "S":
        subject = child(node, "NP") or before
        tag, word, slot = leaves(child(node, "VP"))[0]
        if tag != "VBD" or word in ("was", "were"):
            found.append((slot, noun(subject)[2]))
    for part in node[1]:
        antecedent = node[1][0] if part[0] == "SBAR" and node[0] == "NP" else before
        found += agreements(part, antecedent)
    return sorted(found)
