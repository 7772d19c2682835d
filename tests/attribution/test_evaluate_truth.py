"""Texts whose deciding tokens are known: the tokens are those that decide."""

from dataclasses import replace

import pytest
import torch
from heads_of_models import model, own, tokenizer

from wherewhat.attribution.evaluation.truth import KnownText, known_texts, role_words
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.corpora.question_corpus import QuestionCorpus
from wherewhat.corpora.sentence_pairs import role_example
from wherewhat.errors import UserError
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.tasks.base import Balanced
from wherewhat.tasks.mixture import Mixture
from wherewhat.tasks.registry import task


def learner(*tasks: Balanced) -> LoadedModel:
    """An untrained net that would learn these tasks."""
    both = Mixture(tasks)
    net = build(NetConfig(vocabulary=both.vocabulary, length=both.length, width=8, layers=1, heads=2), seed=0)
    return LoadedModel("net", net, task=both)


@pytest.mark.parametrize("name", ["index", "retrieval", "partial_induction"])
def test_the_slot_of_the_answer_and_the_query_decide(name: str) -> None:
    """Changing another token never changes the answer; the deciding ones name it."""
    read = learner(task(name, context=6, n_symbols=3))
    assert isinstance(read.task, Mixture)
    for text in known_texts(read, 20):
        ids, (slot, query) = list(text.ids), text.deciding
        assert query == len(ids) - 1 and read.task.solve(ids) == text.answer and text.source == name
        inner = read.task.tasks[0]
        shown = inner.token(ids[slot])
        assert shown == inner.token(text.answer) if name == "index" else shown[1:] == str(text.answer)


@pytest.mark.parametrize("name", ["number", "letter"])
def test_all_slots_of_the_path_decide(name: str) -> None:
    read = learner(task("number", window=4, pre=4, hops=(1, 2)), task("letter", window=4, pre=4, hops=(1, 2)))
    texts = [text for text in known_texts(read, 40) if text.source == name]
    assert len(texts) == 20 and {len(text.deciding) for text in texts} == {2, 3}
    assert isinstance(read.task, Mixture)
    first = read.task.first_ids[("number", "letter").index(name)]
    inner = read.task.tasks[("number", "letter").index(name)]
    for text in texts:
        assert sorted(inner.path([id - first for id in text.ids])) == list(text.deciding)  # type: ignore[attr-defined]
        assert text.ids[text.deciding[0]] == text.answer  # the path ends furthest left


def test_a_task_that_does_not_say_what_decides_is_refused() -> None:
    read = learner(task("latin", size=4)) if "size" in task("latin").sizes() else learner(task("latin"))
    with pytest.raises(UserError, match="does not tell which of its tokens decide"):
        known_texts(read, 1)


def test_roles_decide_pairs_unless_the_verb_is_another() -> None:
    examples = [role_example(1, "test", index, max_premise=8) for index in range(30)]
    for example in examples:
        words = [word for sentence in example.sentences for word in sentence.words]
        deciding = [words[slot] for slot in role_words(example)]
        if example.label == "other":
            assert len(deciding) == 2 and deciding[0] != deciding[1]
        else:
            assert len(deciding) == 4 and sorted(deciding[:2]) == sorted(deciding[2:])
    assert {example.label for example in examples} == {"entailed", "reversed", "other"}


def test_pairs_are_read_as_the_net_reads_them() -> None:
    words = {
        word
        for index in range(8)
        for each in role_example(1, "test", index, max_premise=8).sentences
        for word in each.words
    }
    read = own(labels=("entailed", "reversed", "other"), words=tuple(sorted(words)), length=20)
    read = replace(read, corpus=QuestionCorpus("roles"))
    for index, text in enumerate(known_texts(read, 8, seed=1)):
        example = role_example(1, "test", index, max_premise=8)
        expected = [word for sentence in example.sentences for word in sentence.words]
        assert read.tokenizer.convert_ids_to_tokens(list(text.ids)) == expected
        assert text.deciding == role_words(example) and text.source == "roles"


def test_repeated_tokens_are_decided_by_the_earlier_copy() -> None:
    read = wrap_module(model("llama", "LlamaForCausalLM"), tokenizer("before"))
    for text in known_texts(read, 10):
        copy, after, last = text.deciding
        assert text.ids[0] == 1 and last == len(text.ids) - 1
        assert text.ids[copy] == text.ids[last] and after == copy + 1 and text.ids[after] == text.answer
        assert text.ids.count(text.ids[last]) == 2 and text.ids.count(text.answer) == 1
    assert known_texts(read, 10) == known_texts(read, 10) != known_texts(read, 10, seed=1)


def test_a_model_without_known_texts_is_refused() -> None:
    read = wrap_module(model("bert", "BertForMaskedLM"), tokenizer("around"))
    with pytest.raises(UserError, match="no texts whose deciding tokens are known for bert; give texts"):
        known_texts(read, 1)


def test_the_built_in_net_has_both_tasks() -> None:
    texts = known_texts(load_by_name("tiny", LoadSettings()), 4)
    assert [text.source for text in texts] == ["number", "letter", "number", "letter"]
    assert all(isinstance(text, KnownText) and torch.tensor(text.ids).shape == (17,) for text in texts)
