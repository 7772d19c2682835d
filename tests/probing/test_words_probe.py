"""Shuffled words: every number against a plain loop, nets that cannot see order, files, and what is said of it."""

import hashlib
import json
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from heads_of_models import classifier, model, tokenizer
from reading_nets import CASES, TREES, WORDS, by_reading, judging, reads

from wherewhat.capture.loading.load import word_tokenizer
from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.bracketed_trees import read_tree
from wherewhat.corpora.sentence_pairs import CONTENT, ROLES
from wherewhat.errors import UserError
from wherewhat.probing.swap_probe.datasets import ExampleFilter, ProbeDataset, load_datasets
from wherewhat.probing.swap_probe.probed_model import ProbedModel
from wherewhat.probing.swaps.constituent_shuffle import shuffle_constituents, shuffle_control
from wherewhat.probing.words import WordShuffleProbe, in_every_item, probe_words
from wherewhat.tables.parquet import parquet_bytes
from wherewhat.tasks.stream import Stream

FEW = {"max_sentences": 12, "sizes": ("3", "whole")}


def numbers(table: pl.DataFrame, **where: str) -> dict[str, float]:
    """Values by kind, of all cases together."""
    found = table.filter(pl.col("side").is_null(), *(pl.col(name) == value for name, value in where.items()))
    return dict(zip(found["kind"], found["value"], strict=True))


def surprise(model, text: str) -> tuple[float, int]:
    """Minus the pseudo-log-likelihood of a text, one hidden word after the other, and how many words."""
    ids = model.tokenizer(text)["input_ids"]
    total = 0.0
    for slot, id in enumerate(ids):
        hidden = torch.tensor([[*ids[:slot], model.tokenizer.mask_token_id, *ids[slot + 1 :]]])
        total -= float(model.module(hidden)[0, slot].log_softmax(-1)[id])
    return total, len(ids)


def direction(model, text: str) -> np.ndarray:
    hidden = model.module.hidden(torch.tensor([model.tokenizer(text)["input_ids"]]))[0].mean(0).numpy()
    return hidden / np.sqrt((hidden**2).sum())


@torch.no_grad()
def test_every_number_of_a_language_model_is_that_of_a_plain_loop():
    model = reads()
    run = probe_words(model, seed=4, **FEW)
    assert run.manifest.way == "masked" and "is masked in turn" in run.manifest.question
    shuffles = WordShuffleProbe(seed=4, **FEW)
    data = load_datasets(ProbedModel(model, "masked"), [], ExampleFilter(12, 4, "constituents", shuffles.refuse))[0]
    sentences = [case.sentences[0] for case in data.examples]
    texts = dict.fromkeys(sentence.text for sentence in sentences)
    apart = [1 - direction(model, one) @ direction(model, two) for one in texts for two in texts if one != two]
    sums = {name: [0.0, 0] for name in ("original", "swapped", "control", "of control", "whole")}
    distances, moved, words = [], 0, 0
    for sentence in sentences:
        swap = shuffle_constituents(sentence, 3, seed=4, key=sentence.text)
        if swap is None:
            continue
        control = shuffle_control(sentence, swap, seed=4, key=sentence.text)
        whole = shuffle_constituents(sentence, None, seed=4, key=sentence.text)
        read = {"original": sentence.words, "swapped": swap.words, "whole": whole.words}
        read |= {"control": control.words, "of control": sentence.words} if control else {}
        for name, each in read.items():
            nats, count = surprise(model, " ".join(each))
            sums[name] = [sums[name][0] + nats, sums[name][1] + count]
        distances.append(1 - direction(model, sentence.text) @ direction(model, " ".join(swap.words)))
        moved += sum(now != before for now, before in enumerate(swap.order))
        words += len(swap.order)
    theirs = {name: total / count for name, (total, count) in sums.items()}
    ours = numbers(run.probe, item="3", measure="nats")
    for kind in ("original", "swapped", "control"):
        assert ours[kind] == pytest.approx(theirs[kind], rel=1e-9)
    assert ours["change"] == pytest.approx(theirs["swapped"] - theirs["original"], rel=1e-9)
    assert ours["control change"] == pytest.approx(theirs["control"] - theirs["of control"], rel=1e-9)
    assert ours["against whole"] == pytest.approx(theirs["swapped"] - theirs["whole"], rel=1e-9)
    theirs_apart = np.mean(distances) / np.mean(apart)
    assert numbers(run.probe, item="3", measure="distance")["swapped"] == pytest.approx(theirs_apart, rel=1e-9)
    assert numbers(run.probe, item="3", measure="moved")["swapped"] == pytest.approx(moved / words)
    count = run.probe.filter(item="3", kind="change", measure="nats")["count"][0]
    assert count == len(distances) == run.manifest.data[0].items["3"].sentences
    assert run.manifest.data[0].items["3"].left_out == {"no constituent of 3 words": 12 - count}
    assert run.manifest.data[0].skipped == {}, "no sentence was left out altogether"


@torch.no_grad()
def test_the_interval_of_a_change_draws_the_same_sentences_for_both():
    model = reads()
    run = probe_words(model, seed=4, max_sentences=6, sizes=("whole",))
    shuffles = WordShuffleProbe(seed=4, max_sentences=6, sizes=("whole",))
    data = load_datasets(ProbedModel(model, "masked"), [], ExampleFilter(6, 4, "constituents", shuffles.refuse))[0]
    sentences = [case.sentences[0] for case in data.examples]
    swapped = [shuffle_constituents(each, None, seed=4, key=each.text).words for each in sentences]
    before = [surprise(model, sentence.text) for sentence in sentences]
    after = [surprise(model, " ".join(words)) for words in swapped]
    stream, changes = Stream(4, "bootstrap", "words grammar"), []
    for _ in range(1000):
        drawn = [stream.below(6) for _ in range(6)]
        one, two = ([sum(column) for column in zip(*(of[n] for n in drawn), strict=True)] for of in (before, after))
        changes.append(two[0] / two[1] - one[0] / one[1])
    changes.sort()
    row = run.probe.filter(kind="change", measure="nats").row(0, named=True)
    assert (row["low"], row["high"]) == (pytest.approx(changes[24], rel=1e-9), pytest.approx(changes[974], rel=1e-9))


def test_a_net_without_positions_is_not_moved_by_any_shuffle():
    sizes = {"max_sentences": 30, "sizes": ("3", "4", "whole")}
    blind, seeing = (
        probe_words(reads(labels=ROLES, encoding=encoding), **sizes).probe for encoding in ("none", "learned")
    )
    for measure, exact in (("kept", 1.0), ("flip", 0.0)):
        found = blind.filter(pl.col("kind").is_in(["swapped", "control"]), measure=measure)
        assert len(found) > 5 and (found["value"] == exact).all()
    changes = blind.filter(pl.col("kind").str.contains("change|beyond|against"), measure="accuracy")
    assert len(changes) > 5 and (changes["value"] == 0).all() and (changes["low"] == 0).all()
    assert blind.filter(measure="distance", kind="swapped")["value"].max() < 1e-12
    assert seeing.filter(measure="distance", kind="swapped")["value"].min() > 1e-3


def test_labels_are_counted_as_by_hand(monkeypatch):
    judging(monkeypatch, by_reading)
    run = probe_words(reads(labels=ROLES), max_sentences=30, sizes=("3", "whole"), which="premise")
    assert run.manifest.way == "labels" and run.manifest.data[0].question == "roles"
    assert run.manifest.data[0].labels == {"entailed": 10, "other": 10, "reversed": 10}
    before = numbers(run.probe, item="whole", measure="accuracy")["original"]
    assert before == 1.0, "it reads every pair as it is"
    by_label = run.probe.filter(item="whole", measure="accuracy", kind="swapped").filter(pl.col("side").is_in(ROLES))
    values = dict(zip(by_label["side"], by_label["value"], strict=True))
    assert values["other"] == 1.0 and values["entailed"] < 1, "no order hides which verb it is"
    together = numbers(run.probe, item="whole", measure="accuracy")["swapped"]
    assert together == pytest.approx(sum(values.values()) / 3)
    assert numbers(run.probe, item="whole", measure="flip")["swapped"] == pytest.approx(1 - together)


def test_only_the_sentence_that_was_asked_for_is_shuffled():
    for which, moved in (("premise", (True, False)), ("hypothesis", (False, True))):
        run = probe_words(reads(labels=CONTENT), max_sentences=6, sizes=("whole",), which=which)
        assert run.manifest.data[0].question == "content" and run.manifest.data[0].swapped_in == which
        for example in run.manifest.examples:
            assert tuple(each.words != each.swapped for each in example.sentences) == moved
            for each in example.sentences:
                assert [each.words[old] for old in each.order] == each.swapped


def test_one_original_serves_all_sizes_of_the_main_set():
    run = probe_words(reads(), max_sentences=45, sizes=("3", "whole"))
    every = run.probe.filter(side="every size", kind="original", measure="nats")
    assert every["value"].n_unique() == 1 and every["low"].n_unique() == 1 and len(every) == 2
    assert every["count"][0] == run.manifest.data[0].every_size >= 30
    few = probe_words(reads(), max_sentences=20, sizes=("3", "whole"))
    assert "every size" not in set(few.probe["side"]) and few.manifest.data[0].every_size < 30
    assert in_every_item(WordShuffleProbe(sizes=("3",)).items(gather_few())) == {0, 2}


def gather_few():
    trees = [read_tree(line, "line") for line in TREES.splitlines()]
    return ProbeDataset("few", "few", tuple(AnnotatedExample((tree.sentence("line"),), "") for tree in trees))


def test_files_stand_side_by_side(tmp_path: Path):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(TREES)
    two.write_text(TREES.splitlines()[0])
    run = probe_words(reads(), [one, two], sizes=(3, "whole"))
    assert run.probe["data"].unique(maintain_order=True).to_list() == ["one", "two"]
    assert [each.sentences for each in run.manifest.data] == [3, 1]
    assert run.manifest.data[0].items["3"].left_out == {"no constituent of 3 words": 1}
    assert not run.manifest.data[0].items["whole"].left_out
    alone = run.probe.filter(data="two", kind="change", measure="nats")
    assert alone["low"].is_null().all() and alone["value"].is_not_null().all(), "one sentence has no interval"
    assert run.manifest.summary.startswith("one: surprisal ") and "; two: surprisal " in run.manifest.summary


def test_what_was_not_asked_for_is_not_left_out_and_texts_have_a_hash(tmp_path: Path):
    path = tmp_path / "trees.txt"
    path.write_text(TREES)
    few, all_ = (probe_words(reads(), [path], max_sentences=many).manifest.data[0] for many in (2, 3))
    assert few.skipped == {} and few.not_needed == 1 and all_.not_needed is None
    texts = "the brave cat sees a dog .", "maria sleeps .", "a dog helps every small cat ."
    orders = [hashlib.sha256("\n".join(f"\t{text}" for text in order).encode()) for order in permutations(texts)]
    assert all_.hash in [order.hexdigest() for order in orders] and few.hash != all_.hash


def test_labelled_cases_of_a_file_are_judged_by_the_names_that_are_given(tmp_path: Path):
    path = tmp_path / "cases.tsv"
    path.write_text(CASES.replace("neutral\t", "Neutral\t") + "-\t(S (NP (NNP tom)) (VP (VBZ runs)) (. .))\n")
    net = reads(labels=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(UserError) as error:
        probe_words(net, [path])
    assert str(error.value) == (
        f"the labels of {path} are Neutral, contradiction, entailment and those of {net.id} are LABEL_0, LABEL_1, "
        "LABEL_2; say with --labels what the model's are called, in its own order"
    )
    run = probe_words(net, [path], labels=("neutral", "Entailment", "contradiction"))
    about = run.manifest.data[0]
    assert about.labelled and about.pairs and about.skipped["annotators did not agree on the label"] == 1
    assert {"accuracy", "kept", "flip"} <= set(run.probe["measure"])
    unlabelled = tmp_path / "trees.txt"
    unlabelled.write_text(TREES)
    plain = probe_words(net, [unlabelled])
    assert set(plain.probe["measure"]) == {"kept", "distance", "moved", "reach"}
    assert any("only whether its answers stay is measured" in note for note in plain.manifest.notes)


def test_what_is_too_long_is_left_out_counted_and_said(tmp_path: Path):
    path, said = tmp_path / "trees.txt", []
    path.write_text(TREES)
    run = probe_words(reads(length=6), [path], say=said.append)
    told = "trees: 2 sentences are longer than the model allows and were left out"
    assert run.manifest.data[0].skipped["longer than the model allows"] == 2 and told in said
    assert f"{told}." in run.manifest.notes and run.manifest.question in said
    with pytest.raises(UserError) as error:
        probe_words(reads(length=2), [path])
    assert str(error.value) == (
        f"no sentence of {path} can be used (3 longer than the model allows); give others with --treebank"
    )


def test_unknown_words_are_told(tmp_path: Path):
    path = tmp_path / "trees.txt"
    path.write_text(TREES.replace("cat", "axolotl"))
    notes = probe_words(reads(), [path]).manifest.notes
    assert "trees: 12% of the words are unknown to the model, which reads them all alike." in notes
    path.write_text(TREES)
    assert not any("unknown" in note for note in probe_words(reads(), [path]).manifest.notes)


def test_a_bare_model_is_read_by_its_states():
    bare = model("bert", "BertModel", vocab_size=len(WORDS), max_position_embeddings=64)
    run = probe_words(bare, tokenizer=word_tokenizer(WORDS), **FEW)
    assert run.manifest.way == "states" and set(run.probe["measure"]) == {"distance", "moved", "reach"}
    assert run.manifest.summary.startswith("grammar: distance (1 is another sentence) 3-word constituents ")


def test_a_classifier_of_two_stacks_is_read_by_its_answers_alone():
    bart = classifier("bart", "BartForSequenceClassification", eos_token_id=2)
    run = probe_words(bart, tokenizer=tokenizer("around"), **FEW)
    assert run.manifest.data[0].question == "content"
    assert set(run.probe["measure"]) == {"accuracy", "kept", "flip", "moved", "reach"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sizes": ("x",)}, "'x' is not the size of a constituent; give 2 words or more, or whole"),
        ({"sizes": ("1",)}, "'1' is not the size of a constituent; give 2 words or more, or whole"),
        ({"sizes": ("3", "3")}, "sizes is '3,3'; name at least one size, and none twice"),
        ({"which": "first"}, "which is 'first'; of a pair shuffle premise, hypothesis or both"),
        ({"max_sentences": 0}, "max_sentences is 0; take at least 1"),
        ({"seed": -1}, "seed is -1; give a whole number from 0 to 2147483647"),
        ({"labels": ("a",)}, "Encoder is not a classifier, so it has no labels to name; leave --labels out"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_sentence(settings: dict, sentence: str):
    with pytest.raises(UserError) as error:
        probe_words(reads(), **settings)
    assert str(error.value) == sentence


def test_labels_and_files_that_do_not_fit_are_said_in_a_sentence(tmp_path: Path):
    net, path = reads(labels=ROLES), tmp_path / "a.conllu"
    with pytest.raises(
        UserError, match=r"--labels names 1 \(a\) and .* has 3 labels \(entailed, reversed, other\); na"
    ):
        probe_words(net, labels=("a",))
    with pytest.raises(UserError, match="--labels is 'a,a,b', which names a label twice; give each its own name"):
        probe_words(net, labels=("a", "a", "b"))
    row = "\t".join(["1", "maria", "maria", "PROPN", "_", "_", "0", "root", "_", "_"])
    path.write_text(f"{row}\n\n")
    with pytest.raises(
        UserError, match=r"has no constituents \(its first sentence, line 1, has none, nor has any other\); g"
    ):
        probe_words(net, [path])
    path.write_text(TREES)
    with pytest.raises(UserError, match="a.conllu is given twice; name each file once"):
        probe_words(net, [path, path])
    silent = reads(labels=ROLES)
    object.__setattr__(silent, "tokenizer", None)
    with pytest.raises(UserError, match="has no tokenizer, so it cannot read sentences; save one beside the model, or"):
        probe_words(silent)


def test_the_same_seed_gives_the_same_bytes():
    one, again, other = (probe_words(reads(), seed=seed, **FEW) for seed in (0, 0, 1))
    assert parquet_bytes(one.probe) == parquet_bytes(again.probe) != parquet_bytes(other.probe)
    alike = ("data", "examples", "claims", "said", "notes")
    plain, plain_again = (run.manifest.to_dict() for run in (one, again))
    assert [json.dumps(plain[key]) for key in alike] == [json.dumps(plain_again[key]) for key in alike]
