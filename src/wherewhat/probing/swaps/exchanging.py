"""Agent and patient change places, so that a sentence says the opposite; and two other stretches do, as a control."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from wherewhat.corpora.pairs import main_predicate, usable_roles, why_unusable
from wherewhat.corpora.phrase import annotate
from wherewhat.corpora.regrown import exchanged, of_grammar, phrase_of
from wherewhat.corpora.sentence import Annotation, Predicate, Role, Sentence
from wherewhat.probing.swaps.base import Span, Swap, begun, body, rearranged
from wherewhat.probing.swaps.persons import Persons, Scene, in_case, is_subject, scene_of
from wherewhat.tasks.stream import Stream

ANYONE = Persons()


@dataclass(frozen=True)
class Exchange:
    """A sentence in which agent and patient have changed places."""

    swap: Swap
    sentence: Sentence  # with what is known of it now
    roles: tuple[Role, Role]  # agent and patient as they were before
    changed: tuple[tuple[str, str], ...] = ()  # pronouns in another case: before and after


def exchange_roles(sentence: Sentence, persons: Persons = ANYONE) -> Exchange | None:
    """Agent and patient of a sentence in each other's place; None where they cannot be, and `why_not` says why.

    A sentence of the grammar keeps all its words. In written text English pronouns change their form (he, him), and
    only `persons` change places, around the main verb or else around the first where they may. Phrases in different
    cases stay: "den Peter sieht Maria" says in any order who sees whom.
    """
    if of_grammar(sentence):
        roles = usable_roles(sentence)
        return _in_grammar(sentence, roles) if roles else None
    scene = _scene(sentence, persons)
    return None if isinstance(scene, str) else _in_text(scene)


def why_not(sentence: Sentence, persons: Persons = ANYONE) -> str | None:
    """What keeps agent and patient from changing places, in a few words that can be counted; None if nothing does."""
    if of_grammar(sentence):
        return why_unusable(sentence)
    scene = _scene(sentence, persons)
    return scene if isinstance(scene, str) else None


def exchange_control(sentence: Sentence, exchange: Exchange, *, seed: int, key: int | str) -> Swap | None:
    """Two other stretches of the same two lengths change places, and words move about as far; None if there are none.

    Agent and patient keep their order: whoever came first still does.
    """
    agent, patient = (role.head for role in exchange.roles)

    def fits(swap: Swap) -> bool:
        kept = (swap.order.index(agent) < swap.order.index(patient)) == (agent < patient)
        return kept and swap.words not in (sentence.words, exchange.swap.words)

    controls = [swap for swap in _stretches_exchanged(sentence, exchange.swap.spans) if fits(swap)]
    if not controls:
        return None
    off = [abs(swap.reach - exchange.swap.reach) for swap in controls]
    nearest = [swap for swap, far in zip(controls, off, strict=True) if far == min(off)]
    return Stream(seed, "exchange control", key).pick(nearest)


def _stretches_exchanged(sentence: Sentence, spans: Sequence[Span]) -> Iterator[Swap]:
    """Every exchange of two stretches as long as these, in either order."""
    one, other = (stop - start for start, stop in spans)
    end = body(sentence)
    for first, second in sorted({(one, other), (other, one)}):
        for start in range(end - first - second + 1):
            for then in range(start + first, end - second + 1):
                places = (start, start + first), (then, then + second)
                yield rearranged(sentence, _order(len(sentence.words), *places), places)


def _order(size: int, one: Span, other: Span) -> list[int]:
    """Before the first, the second, between, the first, after the second."""
    first, second = sorted((one, other))
    places = (0, first[0]), second, (first[1], second[0]), first, (second[1], size)
    return [place for start, stop in places for place in range(start, stop)]


def _in_grammar(sentence: Sentence, roles: tuple[Role, Role]) -> Exchange:
    """The two phrases change places in the tree, and everything known follows from the tree."""
    one, other = sorted((role.start, role.end) for role in roles)
    swap = rearranged(sentence, _order(len(sentence.words), one, other), (one, other))
    tree = exchanged(phrase_of(sentence), one, other)
    return Exchange(swap, Sentence(swap.words, _where(sentence), partial(annotate, tree)), roles)


def _scene(sentence: Sentence, persons: Persons) -> Scene | str:
    """Where the two may change places: around the main verb first, then around the others in their order."""
    if not sentence.preds:
        return "no roles are known"
    if not (sentence.upos and sentence.deprel):
        return "tags and dependencies are not known"
    main = main_predicate(sentence)
    preds = sorted(sentence.preds, key=lambda pred: pred is not main)
    scenes = [scene_of(sentence, pred, persons) for pred in preds]
    return next((scene for scene in scenes if not isinstance(scene, str)), scenes[0])


def _in_text(scene: Scene) -> Exchange:
    sentence = scene.sentence
    one, other = sorted((role.start, role.end) for role in scene.two)
    order = _order(len(sentence.words), one, other)
    forms = dict(_forms(scene))
    words = begun(sentence, [forms.get(before, sentence.words[before]) for before in order], order)
    changed = [(sentence.words[place], form) for place, form in forms.items()]
    swap = Swap(tuple(words), tuple(order), (one, other))
    result = Sentence(swap.words, _where(sentence), partial(_carried, scene, swap))
    return Exchange(swap, result, scene.two, tuple(pair for pair in changed if pair[0].lower() != pair[1].lower()))


def _forms(scene: Scene) -> Iterator[tuple[int, str]]:
    """Pronouns among the two, as they are written in the other's place."""
    for role, place in (scene.two, scene.two[::-1]):
        form = in_case(scene.sentence, role, subject=is_subject(scene.sentence, place))
        if form is not None:
            yield role.head, form


def _carried(scene: Scene, swap: Swap) -> Annotation:
    """What is known of written text after an exchange: words take along what they are; the two change governors.

    Phrases and the roles of other verbs are left out.
    """
    known, order = scene.sentence.annotation, swap.order
    now = {before: place for place, before in enumerate(order)}
    arcs = [_arc(scene, before) for before in order]
    return replace(
        known,
        lemma=tuple(known.lemma[before] for before in order if known.lemma),
        upos=tuple(known.upos[before] for before in order),
        xpos=tuple(known.xpos[before] for before in order if known.xpos),
        number=tuple(known.number[before] for before in order if known.number),
        case=tuple(known.case[before] for before in order if known.case),
        head=tuple(0 if governor < 0 else now[governor] + 1 for governor, _ in arcs),
        deprel=tuple(relation for _, relation in arcs),
        tree="",
        spans=(),
        preds=(_reversed(scene, now),),
        agree=(),
        raw="",
        places=(),
    )


def _arc(scene: Scene, token: int) -> tuple[int, str]:
    """The governor (counted from 0) and the relation that a word of the old sentence has in the new one."""
    known = scene.sentence.annotation
    agent, patient = scene.two
    other = {agent.head: patient.head, patient.head: agent.head}
    if token in other:
        return known.head[other[token]] - 1, known.deprel[other[token]]
    governor = known.head[token] - 1
    inside = any(role.head == governor and role.start <= token < role.end for role in scene.two)
    # A preposition that has stayed where it was now leads the other one.
    return governor if inside else other.get(governor, governor), known.deprel[token]


def _reversed(scene: Scene, now: dict[int, int]) -> Predicate:
    """The verb with its two roles, each filled by what filled the other."""
    agent, patient = scene.two
    pairs = (agent, patient), (patient, agent)
    places = [(role, sorted(now[place] for place in range(by.start, by.end)), by) for role, by in pairs]
    roles = tuple(Role(role.role, held[0], held[-1] + 1, now[by.head], "direct") for role, held, by in places)
    return Predicate(now[scene.pred.index], scene.pred.lemma, scene.pred.voice, roles)


def _where(sentence: Sentence) -> str:
    return f"{sentence.where}, agent and patient exchanged"
