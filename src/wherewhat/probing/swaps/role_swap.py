"""Swap agent and patient, so that a sentence says the opposite; and, as a control, two other spans."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from wherewhat.corpora.constituents import annotate
from wherewhat.corpora.grammar_trees import of_grammar, swap_noun_phrases, tree_of
from wherewhat.corpora.sentence import Annotation, Predicate, Role, Sentence
from wherewhat.corpora.sentence_pairs import main_predicate, usable_roles, why_unusable
from wherewhat.probing.swaps.swap import Span, Swap, body, capitalised, rearranged
from wherewhat.probing.swaps.swappable_roles import Persons, SwapCandidate, in_case, is_subject, swap_candidate
from wherewhat.tasks.stream import Stream

ANYONE = Persons()
SWAPPED = "agent and patient swapped"  # after where the sentence comes from


@dataclass(frozen=True)
class RoleSwap:
    """A sentence in which agent and patient were swapped."""

    swap: Swap
    sentence: Sentence  # with its new annotation
    roles: tuple[Role, Role]  # agent and patient as they were before
    changed: tuple[tuple[str, str], ...] = ()  # pronouns in another case: before and after


def swap_roles(sentence: Sentence, persons: Persons = ANYONE) -> RoleSwap | None:
    """Swap agent and patient of a sentence; None where they cannot be swapped, and `why_not_swappable` says why.

    A sentence of the grammar keeps all its words. In written text English pronouns change their form (he, him), and
    only `persons` are swapped, around the main verb or else around the first verb where they can be. Arguments in
    different grammatical cases stay: "den Peter sieht Maria" says in any order who sees whom.
    """
    if not of_grammar(sentence):
        candidate = _candidate(sentence, persons)
        return None if isinstance(candidate, str) else _in_text(candidate)
    roles = usable_roles(sentence)
    if roles is None:
        return None
    spans = sorted((role.start, role.end) for role in roles)
    swap = rearranged(sentence, _order(len(sentence.words), spans), spans)
    tree = swap_noun_phrases(tree_of(sentence), *spans)  # the annotation follows from the tree
    return RoleSwap(swap, Sentence(swap.words, f"{sentence.where}, {SWAPPED}", partial(annotate, tree)), roles)


def why_not_swappable(sentence: Sentence, persons: Persons = ANYONE) -> str | None:
    """Why agent and patient cannot be swapped, as one of a few phrases that can be counted; None if they can be."""
    if of_grammar(sentence):
        return why_unusable(sentence)
    candidate = _candidate(sentence, persons)
    return candidate if isinstance(candidate, str) else None


def role_swap_control(sentence: Sentence, swapped: RoleSwap, *, seed: int, key: int | str) -> Swap | None:
    """Swap two other spans of the same two lengths, so that words move about as far; None if there are none.

    Agent and patient keep their order: whichever came first still does.
    """
    agent, patient = (role.head for role in swapped.roles)
    lengths = tuple(stop - start for start, stop in swapped.swap.spans)
    end, controls = body(sentence), list[Swap]()
    for first, second in sorted({lengths, lengths[::-1]}):
        for start in range(end - first - second + 1):
            for then in range(start + first, end - second + 1):
                spans = (start, start + first), (then, then + second)
                swap = rearranged(sentence, _order(len(sentence.words), spans), spans)
                kept = (swap.order.index(agent) < swap.order.index(patient)) == (agent < patient)
                if kept and swap.words not in (sentence.words, swapped.swap.words):
                    controls.append(swap)
    if not controls:
        return None
    off = [abs(swap.reach - swapped.swap.reach) for swap in controls]
    nearest = [swap for swap, far in zip(controls, off, strict=True) if far == min(off)]
    return Stream(seed, "exchange control", key).pick(nearest)


def _order(size: int, spans: Sequence[Span]) -> list[int]:
    """Before the first, the second, between, the first, after the second."""
    first, second = sorted(spans)
    places = (0, first[0]), second, (first[1], second[0]), first, (second[1], size)
    return [place for start, stop in places for place in range(start, stop)]


def _candidate(sentence: Sentence, persons: Persons) -> SwapCandidate | str:
    """Where two roles can be swapped: around the main verb first, then around the others in their order."""
    if not sentence.preds:
        return "no roles are known"
    if not (sentence.upos and sentence.deprel):
        return "tags and dependencies are not known"
    main = main_predicate(sentence)
    preds = sorted(sentence.preds, key=lambda pred: pred is not main)
    candidates = [swap_candidate(sentence, pred, persons) for pred in preds]
    return next((candidate for candidate in candidates if not isinstance(candidate, str)), candidates[0])


def _in_text(candidate: SwapCandidate) -> RoleSwap:
    """The two swapped in written text, pronouns in the form that the other's place asks for."""
    sentence, _, two = candidate
    spans = sorted((role.start, role.end) for role in two)
    order = _order(len(sentence.words), spans)
    forms = dict[int, str]()
    for role, other in (two, two[::-1]):
        form = in_case(sentence, role, subject=is_subject(sentence, other))
        forms |= {} if form is None else {role.head: form}
    words = capitalised(sentence, [forms.get(before, sentence.words[before]) for before in order], order)
    changed = [(sentence.words[place], form) for place, form in forms.items()]
    swap = Swap(tuple(words), tuple(order), tuple(spans))
    result = Sentence(swap.words, f"{sentence.where}, {SWAPPED}", partial(_annotation_after, candidate, swap))
    return RoleSwap(swap, result, two, tuple(pair for pair in changed if pair[0].lower() != pair[1].lower()))


def _annotation_after(candidate: SwapCandidate, swap: Swap) -> Annotation:
    """The annotation of written text after a role swap: words keep their own; the two swap their head words.

    Constituents and the roles of other verbs are left out.
    """
    known, order = candidate.sentence.annotation, swap.order
    now = {before: place for place, before in enumerate(order)}
    arcs = [_arc(candidate, before) for before in order]
    roles = list[Role]()  # each filled by what filled the other before
    for role, by in (candidate.two, candidate.two[::-1]):
        places = [now[place] for place in range(by.start, by.end)]
        roles.append(Role(role.role, min(places), max(places) + 1, now[by.head], "direct"))
    pred = candidate.pred
    return replace(
        known,
        lemma=tuple(known.lemma[before] for before in order if known.lemma),
        upos=tuple(known.upos[before] for before in order),
        xpos=tuple(known.xpos[before] for before in order if known.xpos),
        number=tuple(known.number[before] for before in order if known.number),
        case=tuple(known.case[before] for before in order if known.case),
        head=tuple(0 if head < 0 else now[head] + 1 for head, _ in arcs),
        deprel=tuple(relation for _, relation in arcs),
        tree="",
        spans=(),
        preds=(Predicate(now[pred.index], pred.lemma, pred.voice, tuple(roles)),),
        agree=(),
        raw="",
        places=(),
    )


def _arc(candidate: SwapCandidate, token: int) -> tuple[int, str]:
    """The head word (counted from 0) and the relation that a word of the old sentence has in the new one."""
    known = candidate.sentence.annotation
    agent, patient = candidate.two
    other = {agent.head: patient.head, patient.head: agent.head}
    if token in other:
        return known.head[other[token]] - 1, known.deprel[other[token]]
    head = known.head[token] - 1
    inside = any(role.head == head and role.start <= token < role.end for role in candidate.two)
    # A preposition that stayed where it was now belongs to the other one.
    return head if inside else other.get(head, head), known.deprel[token]
