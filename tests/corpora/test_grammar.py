"""The grammar gives the published sentences to the letter, and every annotation holds together."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice, pairwise
from math import log2, sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import bracketed
import pytest

from wherewhat.corpora.base import split_of
from wherewhat.corpora.constituents import annotate
from wherewhat.corpora.grammar import Grammar
from wherewhat.corpora.rules import Rules
from wherewhat.corpora.sentence import Sentence
from wherewhat.errors import UserError
from wherewhat.tasks.base import SPLITS
from wherewhat.tasks.stream import Stream, fnv

VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "tasks.json").read_text())["grammar"]
BOTH = pytest.mark.parametrize("grammar", [Grammar(), Grammar(seed=3, past=True)], ids=["present", "past"])
PAST_FORMS = (
    "was were saw broke hid gave showed slept ran laughed waited sang fell jumped smiled thought said knew believed"
)


def digest(values: list[Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def record(sentence: Sentence) -> dict[str, Any]:
    known = json.loads(json.dumps(asdict(sentence.annotation)))
    for field in ("case", "id", "raw", "places"):  # what only files have
        assert not known.pop(field)
    return {"text": sentence.text, "tokens": list(sentence.words), **known}


def test_the_vocabulary_is_the_published_one():
    assert Grammar().vocabulary == VECTOR["vocabulary"] and len(VECTOR["vocabulary"]) == 199


@pytest.mark.parametrize("published", VECTOR["sentences"], ids=lambda one: str(one["index"]))
def test_whole_records_are_the_published_ones(published: dict[str, Any]):
    index = published["index"]
    assert Grammar().bits("train", index) == pytest.approx(published["bits"], abs=1e-6)
    ours = record(Grammar().sentence("train", index)) | {"attempt": Grammar().derive("train", index).attempt}
    assert ours == {field: value for field, value in published.items() if field not in ("bits", "index")}


def test_the_first_thousand_training_sentences_are_the_published_ones():
    texts = [sentence.text for sentence in islice(Grammar().sentences("train"), 1000)]
    assert digest(texts) == VECTOR["sha256_train_text_0_999"]


def test_the_first_hundred_test_records_are_the_published_ones():
    records = [record(sentence) for sentence in islice(Grammar().sentences("test"), 100)]
    assert digest(records) == VECTOR["sha256_test_records_0_99"]


def test_twenty_thousand_sentences_have_the_published_counts():
    relations: Counter[str] = Counter()
    lengths, texts, long_enough = [], set(), Counter()
    for sentence in islice(Grammar().sentences("train"), 20_000):
        relations.update(sentence.deprel)
        lengths.append(len(sentence.words))
        texts.add(sentence.text)
        last = len(sentence.words) - 1
        long_enough.update({end - start for _, start, end in sentence.spans if end <= last} & {3, 4, 5, 6})
    published = {"det": 51248, "nsubj": 23061, "case": 18798, "amod": 16944, "obj": 16803, "nmod": 7058}
    published |= {"acl:relcl": 6856, "obl": 6835, "nsubj:pass": 6311, "aux:pass": 6311, "obl:agent": 4905}
    published |= {"advmod": 4023, "mark": 2516, "ccomp": 2516, "iobj": 1434}
    assert {relation: relations[relation] for relation in published} == published
    assert round(mean(lengths), 1) == 10.8 and (min(lengths), max(lengths)) == (3, 30)
    assert round(len(texts) / 20_000, 2) == 0.97
    assert [round(long_enough[size] / 20_000, 2) for size in (3, 4, 5, 6)] == [0.88, 0.57, 0.42, 0.42]


def entropy(*weights: int) -> float:
    return -sum(weight / sum(weights) * log2(weight / sum(weights)) for weight in weights)


def np_bits(kind: str, depth: int) -> float:
    """The entropy of a noun phrase, written down from the rules a second time."""
    adjectives = {"animate": 8, "thing": 6, "place": 5}[kind]
    behind = 0.0
    if kind != "place" and depth < 2:
        none, each = ((6, 2), (10, 1))[depth]
        behind = entropy(none, each, each) + each / (none + 2 * each) * (pp_bits() + rc_bits(kind, depth))
    number = 0.0 if kind == "place" else entropy(2, 1)
    rest = number + entropy(3, 2, 1) + entropy(2, 1) + log2(adjectives) / 3 + behind
    if kind == "animate":
        return entropy(2, 5, 3) + 0.2 * log2(8) + 0.5 * log2(14) + 0.3 * log2(6) + 0.8 * rest
    return log2({"thing": 14, "place": 8}[kind]) + rest


def pp_bits() -> float:
    near = 0.6 * np_bits("place", 2) + 0.2 * np_bits("thing", 2) + 0.2 * np_bits("animate", 2)
    return log2(4) + entropy(3, 1, 1) + near


def rc_bits(kind: str, depth: int) -> float:
    animate, thing = np_bits("animate", depth + 1), np_bits("thing", depth + 1)
    if kind == "thing":
        return entropy(2, 1) + log2(6) + animate
    return entropy(2, 1, 1, 2) + (2 * (3 + animate) + (log2(6) + thing) + 3 + 2 * (animate + 3)) / 6


def clause_bits(depth: int) -> float:
    animate, thing = np_bits("animate", depth), np_bits("thing", depth)
    adjunct = entropy(6, 2, 2) + 0.2 * log2(6) + 0.2 * pp_bits()
    by = entropy(3, 1) + 0.75 * animate
    by_kind = [
        (2, animate + 3 + adjunct),
        (4, animate + 3 + animate + adjunct),
        (2, animate + log2(6) + thing + adjunct),
        (1, animate + log2(5) + animate + thing + adjunct),
        (1, animate + log2(5) + thing + animate + adjunct),
        (2, animate + 3 + by + adjunct),
        (1, thing + log2(6) + by + adjunct),
        (1, thing + log2(5) + animate + by + adjunct),
    ]
    if depth == 0:
        by_kind.append((2, animate + 2 + clause_bits(1)))
    weights = [weight for weight, _ in by_kind]
    return entropy(*weights) + sum(weight * bits for weight, bits in by_kind) / sum(weights)


def test_bits_are_those_of_the_rules_and_their_mean_is_their_entropy():
    """The published mean is over 20,000 training sentences. Those longer than 30 words are missing: it is less."""
    grammar = Grammar()
    drawn = [weighed(Stream(5, index)) for index in range(2500)]
    assert abs(mean(drawn) - clause_bits(0)) < 3 * stdev(drawn) / sqrt(len(drawn))
    kept = [grammar.bits("train", index) for index in range(2000)]
    assert abs(mean(kept) - 37.96) < 3 * stdev(kept) / sqrt(len(kept)) and 37.96 < clause_bits(0) < 38.2


def weighed(stream: Stream) -> float:
    """Bits of one derivation, whatever its length: every draw costs what its weight says."""
    bits = 0.0

    def pick(items: Sequence[Any], /) -> Any:
        nonlocal bits
        item = items[stream.below(len(items))]
        bits -= log2(sum(other == item for other in items) / len(items))
        return item

    Rules(pick, bool).sentence()
    return bits


@BOTH
def test_every_annotation_holds_together(grammar: Grammar):
    vocabulary = set(grammar.vocabulary)
    for split in SPLITS:
        for sentence in islice(grammar.sentences(split), 150):
            assert set(sentence.words) <= vocabulary and len(sentence.words) <= 30
            assert fnv(sentence.text) % 10 in {"test": {0}, "valid": {1}, "train": set(range(2, 10))}[split]
            tree = bracketed.read(sentence.tree)
            assert tuple(word for _, word, _ in bracketed.leaves(tree)) == sentence.words
            assert tuple(tag for tag, _, _ in bracketed.leaves(tree)) == sentence.xpos
            check_dependencies(sentence)
            assert [*sentence.agree] == bracketed.agreements(tree)
            assert all(sentence.number[verb] == sentence.number[noun] for verb, noun in sentence.agree)
            check_roles(sentence)


def check_dependencies(sentence: Sentence) -> None:
    """One root, no circle, no arcs that cross; a governor for everyone."""
    size = len(sentence.words)
    assert sentence.head.count(0) == 1 and sentence.deprel[sentence.head.index(0)] == "root"
    for token in range(size):
        seen, at = set(), token
        while sentence.head[at]:
            assert at not in seen
            seen.add(at)
            at = sentence.head[at] - 1
    arcs = [tuple(sorted((token, head - 1))) for token, head in enumerate(sentence.head) if head]
    assert not [(a, b, c, d) for a, b in arcs for c, d in arcs if a < c < b < d]


def check_roles(sentence: Sentence) -> None:
    phrases = {(start, end) for label, start, end in sentence.spans if label in ("NP", "S", "WHNP")}
    assert [pred.index for pred in sentence.preds] == [t for t, tag in enumerate(sentence.upos) if tag == "VERB"]
    for pred in sentence.preds:
        names = [role.role for role in pred.roles]
        assert names == [name for name in ("agent", "patient", "recipient", "content") if name in names] and names
        assert pred.role("agent") or pred.voice == "passive"
        for role in pred.roles:
            assert (role.start, role.end) in phrases
            assert (role.via == "relative") == (sentence.words[role.start] in ("who", "that"))
            assert (role.start <= role.head < role.end) == (role.via == "direct")


def test_splits_share_no_sentence_and_are_the_same_every_time():
    texts = {split: [one.text for one in islice(Grammar().sentences(split), 300)] for split in SPLITS}
    assert not set(texts["train"]) & set(texts["valid"]) | set(texts["train"]) & set(texts["test"])
    assert not set(texts["valid"]) & set(texts["test"])
    for split in SPLITS:
        assert {split_of(text) for text in texts[split]} == {split}
        assert [one.text for one in islice(Grammar().sentences(split), 300)] == texts[split]
    assert [one.text for one in islice(Grammar(seed=2).sentences("train"), 300)] != texts["train"]
    assert Grammar().sentence("test", 7).text == texts["test"][7]
    assert Grammar().sentence("test", "nli7.0").text != texts["test"][7], "sentences may have names of other kinds"


def test_the_past_adds_nothing_but_the_past():
    now, then = set(Grammar().vocabulary), set(Grammar(past=True).vocabulary)
    assert then - now == set(PAST_FORMS.split()) and now < then


def test_a_past_clause_is_its_present_with_another_verb():
    """The same draws with every clause in the present give the same tree, word for word but for the finite verbs."""
    grammar, changed = Grammar(past=True), Counter()
    for index in range(200):
        attempt = grammar.derive("train", index).attempt
        now = annotate(Rules(Stream(1, "grammar", "train", index, attempt).pick, bool).sentence())
        then = grammar.sentence("train", index)
        for field in ("lemma", "upos", "head", "deprel", "spans", "preds"):
            assert getattr(then, field) == getattr(now, field)
        for tag, was, number, before in zip(now.xpos, then.xpos, then.number, now.number, strict=True):
            assert was == tag or (was == "VBD" and tag in ("VBZ", "VBP"))
            assert number == before or (was == "VBD" and number is None)
            changed[was == "VBD"] += tag in ("VBZ", "VBP")
    assert abs(changed[True] / changed.total() - 0.5) < 4 * 0.5 / sqrt(changed.total())


def test_tenses_come_from_a_stream_of_their_own():
    """What a clause is about says nothing of its tense."""
    found: Counter[tuple[bool, bool]] = Counter()
    for sentence in islice(Grammar(past=True).sentences("train"), 600):
        tags = [tag for tag in sentence.xpos if tag[:2] == "VB"]
        found["VBN" in tags, tags[0] == "VBD"] += 1
    for passive in (False, True):
        both = found[passive, True] + found[passive, False]
        assert abs(found[passive, True] / both - 0.5) < 4 * 0.5 / sqrt(both)


def test_the_tense_of_every_clause_costs_one_bit():
    grammar = Grammar(past=True)
    for index in range(20):
        weighed = grammar.bits("train", index) - len(grammar.sentence("train", index).preds)
        same = Grammar().derive("train", index)
        if same.attempt == grammar.derive("train", index).attempt:
            assert weighed == pytest.approx(Grammar().bits("train", index))


def test_every_verb_has_a_past_of_its_own():
    seen = {}
    for sentence in islice(Grammar(past=True).sentences("train"), 1500):
        for word, lemma, tag in zip(sentence.words, sentence.lemma, sentence.xpos, strict=True):
            if tag in ("VBD", "VBN"):
                seen.setdefault(lemma, {})[tag, word if lemma == "be" else ""] = word
    irregular = {"see": "saw", "break": "broke", "hide": "hid", "give": "gave", "show": "showed", "run": "ran"}
    irregular |= {"sleep": "slept", "sing": "sang", "fall": "fell", "think": "thought", "say": "said", "know": "knew"}
    for lemma, forms in seen.items():
        if lemma != "be":
            assert forms["VBD", ""] == irregular.get(lemma, forms.get(("VBN", ""), lemma.removesuffix("e") + "ed"))
    assert set(seen["be"].values()) == {"was", "were"}


def test_a_sentence_is_only_worked_out_when_asked():
    asked = []
    tree = Grammar().rules(Stream(1, "x")).sentence()
    sentence = Sentence(("a",), annotate=lambda: asked.append(1) or annotate(tree))
    assert not asked
    assert sentence.tree and sentence.head and asked == [1]
    assert Sentence(("hello",)).head == () and Sentence(("hello",)).tree == ""


def test_neighbouring_words_never_disagree_on_a():
    for sentence in islice(Grammar(past=True).sentences("train"), 500):
        assert all(second[0] not in "aeiou" for first, second in pairwise(sentence.words) if first == "a")


def test_an_unknown_split_is_refused():
    with pytest.raises(UserError, match="unknown split 'tests'; did you mean 'test'\\?"):
        Grammar().sentences("tests")
