"""Exchanged roles: judges that read and judges that do not, counts against plain loops, real text, and verdicts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from reading_nets import CASES, by_reading, by_words, judging, reads

from wherewhat.corpora.annotated_examples import AnnotatedExample
from wherewhat.corpora.sentence_pairs import CONTENT, ROLES, SWAPPED_LABELS
from wherewhat.errors import UserError
from wherewhat.probing.role_claims import CHANGES, claims_of, summary_of
from wherewhat.probing.roles import RoleSwapProbe, changing_examples, new_label, probe_roles
from wherewhat.probing.swap_probe.datasets import OWN_PAIRS, ExampleFilter, ProbeDataset, load_datasets
from wherewhat.probing.swap_probe.estimates import ProbeEstimate, ProbeEstimates
from wherewhat.probing.swap_probe.item_outputs import best_accuracy, shared_words
from wherewhat.probing.swap_probe.probed_model import ProbedModel
from wherewhat.probing.swaps.role_swap import role_swap_control, swap_roles
from wherewhat.probing.swaps.voice import other_voice
from wherewhat.tables.parquet import parquet_bytes
from wherewhat.tasks.stream import fnv, mix

# "Maria sees him .", "He was helped by Peter ." and a sentence without roles, as Universal Propositions has them.
PROPOSITIONS = """# sent_id = one
1	Maria	Maria	PROPN	_	Number=Sing	2	nsubj	_	Roleset=_|Args=ARG0
2	sees	see	VERB	_	_	0	root	_	Roleset=see.01|Args=V
3	him	he	PRON	_	Number=Sing|Case=Acc	2	obj	_	Roleset=_|Args=ARG1
4	.	.	PUNCT	_	_	2	punct	_	_

# sent_id = two
1	He	he	PRON	_	Number=Sing|Case=Nom	3	nsubj:pass	_	Roleset=_|Args=ARG1
2	was	be	AUX	_	_	3	aux:pass	_	_
3	helped	help	VERB	_	Voice=Pass	0	root	_	Roleset=help.01|Args=V
4	by	by	ADP	_	_	5	case	_	_
5	Peter	Peter	PROPN	_	Number=Sing	3	obl:agent	_	Roleset=_|Args=ARG0
6	.	.	PUNCT	_	_	3	punct	_	_

# sent_id = three
1	Tom	Tom	PROPN	_	Number=Sing	2	nsubj	_	_
2	runs	run	VERB	_	_	0	root	_	_
3	.	.	PUNCT	_	_	2	punct	_	_

"""


def at(table: pl.DataFrame, measure: str, kind: str, *, item: str = "roles", side: str | None = None) -> float:
    """One value."""
    found = table.filter(measure=measure, kind=kind, item=item).filter(pl.col("side").eq_missing(pl.lit(side)))
    assert len(found) == 1
    return float(found["value"][0])


def verdicts(run) -> dict[str, str]:
    """By the first words of every claim."""
    return {claim.claim.partition(":")[0]: claim.verdict for claim in run.manifest.claims}


def test_a_judge_that_reads_follows_the_exchange_and_keeps_to_the_other_voice(monkeypatch):
    judging(monkeypatch, by_reading)
    run = probe_roles(reads(labels=ROLES), max_sentences=60)
    assert at(run.probe, "accuracy", "original") == at(run.probe, "accuracy", "swapped") == 1.0
    assert at(run.probe, "accuracy", "change") == 0.0
    assert at(run.probe, "accuracy", "swapped", item="voice") == at(run.probe, "kept", "swapped", item="voice") == 1.0
    assert at(run.probe, "flip", "swapped", side=CHANGES) == 1.0 == at(run.probe, "flip", "swapped", side="entailed")
    assert at(run.probe, "flip", "swapped", side="other") == 0.0
    assert at(run.probe, "old label", "swapped") == pytest.approx(1 / 3), "where the verb is another, the answer stays"
    assert at(run.probe, "old label", "swapped", side=CHANGES) == 0.0 and at(run.probe, "lenient", "swapped") == 1.0
    for side in ("active voice", "passive voice"):
        assert at(run.probe, "accuracy", "swapped", side=side) == 1.0
    told = verdicts(run)
    assert told["The role swap goes unnoticed"] == "disagrees" and told["The model reads roles"] == "seen"
    assert run.manifest.data[0].swapped_in == "premise"


def test_a_judge_by_words_alone_does_not_notice(monkeypatch):
    judging(monkeypatch, by_words)
    run = probe_roles(reads(labels=ROLES), max_sentences=60)
    assert at(run.probe, "accuracy", "original") == at(run.probe, "accuracy", "swapped") == pytest.approx(2 / 3)
    assert at(run.probe, "kept", "swapped") == 1.0 and at(run.probe, "flip", "swapped", side=CHANGES) == 0.0
    assert at(run.probe, "old label", "swapped", side="entailed") == 1.0
    assert at(run.probe, "accuracy", "swapped", side="entailed") == 0.0, "the new answer is never given"
    told = verdicts(run)
    assert told["The role swap goes unnoticed"] == "unknown", "20 answers that were right are too few"
    assert at(run.probe, "accuracy", "words alone") == pytest.approx(2 / 3)
    assert at(run.probe, "accuracy", "words alone", side=CHANGES) == 0.5
    assert at(run.probe, "accuracy", "one answer") == pytest.approx(1 / 3)
    assert not set(run.probe.filter(kind="words alone")["side"]) & set(ROLES), "of one label there is nothing to tell"
    run = probe_roles(reads(labels=ROLES), max_sentences=150)
    assert set(verdicts(run).values()) == {"unknown"}, "it never learnt what an exchange could take from it"
    assert all("not clearly more than by a guess from the words" in claim.why for claim in run.manifest.claims)


def test_words_alone_cannot_tell_an_exchange_and_tell_all_of_what_they_decide():
    for question, (labels, make) in OWN_PAIRS.items():
        cases = [make(0, "test", number, max_premise=8) for number in range(120)]
        for case in cases:
            exchanged = swap_roles(case.sentences[0])
            assert sorted(exchanged.swap.words) == sorted(case.sentences[0].words)
            assert shared_words(case) == shared_words(replace(case, sentences=(exchanged.sentence, case.sentences[1])))
        right = best_accuracy([shared_words(case) for case in cases], [case.label for case in cases])
        assert right == pytest.approx({"roles": 2 / 3, "content": 1}[question], abs=0.01) and len(labels) == 3


def test_labels_that_are_called_otherwise_are_refused_and_pairs_are_missed(tmp_path: Path):
    with pytest.raises(UserError) as error:
        probe_roles(reads(labels=ROLES), labels=("x", "y", "z"))
    assert str(error.value) == (
        "Encoder learnt to judge pairs (entailed, reversed, other), and the built-in pairs have no labels x, y, z; "
        "leave --labels out, or give pairs with these labels with --treebank"
    )
    path, said = tmp_path / "up.conllu", []
    path.write_text(PROPOSITIONS)
    run = probe_roles(reads(labels=ROLES), [path], say=said.append)
    assert (
        "up has single sentences and the model learnt to judge pairs (entailed, reversed, other), so its answers mean "
        "little; give pairs"
    ) in said and f"{said[-1]}." in run.manifest.notes
    other: list[str] = []
    probe_roles(reads(labels=("good", "bad")), max_sentences=3, say=other.append)
    assert any("grammar has none of the model's labels (good, bad), so only whether" in one for one in other)
    assert not any("pairs" in one for one in other)


def test_labels_that_roles_do_not_decide_follow_their_own_rule(monkeypatch):
    run = probe_roles(reads(labels=CONTENT), max_sentences=12)
    assert run.manifest.data[0].question == "content"
    for example in run.manifest.examples:
        new = SWAPPED_LABELS["content"][example.label] if example.item == "roles" else example.label
        assert example.new == new
        sentence = example.sentences[0]
        start, end = sentence.roles["agent"]
        assert sentence.roles.keys() == {"agent", "patient"} and start < end <= len(sentence.words)
        if example.item == "roles":
            assert sorted(sentence.roles.values()) == sorted(sentence.spans)
        assert not example.sentences[1].roles


def test_labels_may_be_written_with_capitals():
    labels = ("Entailment", "NEUTRAL", "contradiction")
    data = ProbeDataset(
        "made up", "made up", tuple(AnnotatedExample((), label) for label in labels), labelled=True, question="content"
    )
    assert [new_label(data, case) for case in data.examples] == ["contradiction", "neutral", "contradiction"]
    assert changing_examples(data) == {0}


def chance(premise: str, hypothesis: str) -> str:
    """An answer that follows from nothing."""
    return ROLES[mix(fnv(premise + hypothesis)) % 3]


def test_answers_are_counted_as_in_a_plain_loop(monkeypatch):
    judging(monkeypatch, chance)
    net = reads(labels=ROLES)
    run = probe_roles(net, max_sentences=30, seed=3)
    exchanges = RoleSwapProbe(max_sentences=30, seed=3)
    cases = load_datasets(ProbedModel(net, "labels", ROLES), [], ExampleFilter(30, 3, "roles", exchanges.refuse))[
        0
    ].examples
    right, new_right, old, flips, lenient, control_right, beyond, voiced = ([] for _ in range(8))
    for case in cases:
        premise, hypothesis = case.sentences
        exchange = swap_roles(premise)
        control = role_swap_control(premise, exchange, seed=3, key=premise.text)
        new = SWAPPED_LABELS["roles"][case.label]
        before, after = (chance(text, hypothesis.text) for text in (premise.text, " ".join(exchange.swap.words)))
        right.append(before == case.label)
        new_right.append(after == new)
        old.append(after == case.label)
        lenient.append(after == case.label if new == case.label else after != case.label)
        if before == case.label:
            flips.append(after != before)
        if control is not None:
            other = chance(" ".join(control.words), hypothesis.text)
            control_right.append(other == case.label)
            beyond.append((after == new) - (other == case.label))
        voiced.append(chance(other_voice(premise).text, hypothesis.text) == case.label)
    assert at(run.probe, "accuracy", "original") == pytest.approx(np.mean(right))
    assert at(run.probe, "accuracy", "swapped") == pytest.approx(np.mean(new_right))
    assert at(run.probe, "accuracy", "change") == pytest.approx(np.mean(new_right) - np.mean(right))
    assert at(run.probe, "accuracy", "control") == pytest.approx(np.mean(control_right))
    assert at(run.probe, "accuracy", "beyond control") == pytest.approx(np.mean(beyond))
    assert at(run.probe, "old label", "swapped") == pytest.approx(np.mean(old))
    assert at(run.probe, "flip", "swapped") == pytest.approx(np.mean(flips))
    assert at(run.probe, "lenient", "swapped") == pytest.approx(np.mean(lenient))
    assert at(run.probe, "accuracy", "swapped", item="voice") == pytest.approx(np.mean(voiced))
    assert at(run.probe, "accuracy", "beyond voice") == pytest.approx(np.mean(new_right) - np.mean(voiced))
    counted = run.probe.filter(kind="swapped", measure="flip", item="roles").filter(pl.col("side").is_null())
    assert counted["count"][0] == len(flips)


def test_a_net_without_positions_answers_the_same_after_an_exchange():
    blind, seeing = (
        probe_roles(reads(labels=ROLES, encoding=encoding), max_sentences=15).probe for encoding in ("none", "learned")
    )
    assert at(blind, "kept", "swapped") == at(blind, "kept", "control") == 1.0
    assert at(blind, "distance", "swapped") < 1e-12 < 1e-3 < at(seeing, "distance", "swapped")
    assert at(blind, "distance", "swapped", item="voice") > 1e-3, "another voice has other words"


def test_roles_of_real_text_change_places(tmp_path: Path):
    path = tmp_path / "up.conllu"
    path.write_text(PROPOSITIONS)
    run = probe_roles(reads(), [path])
    texts = {" ".join(example.sentences[0].swapped) for example in run.manifest.examples}
    assert texts == {"He sees Maria .", "Peter was helped by him ."}
    about = run.manifest.data[0]
    assert about.sentences == 2 and list(about.items) == ["roles"] and about.swapped_in == "sentence"
    assert about.skipped == {"no roles are known": 1}
    assert {"active voice", "passive voice"} <= set(run.probe["side"].drop_nulls())
    assert set(run.probe["measure"]) == {"nats", "distance", "moved", "reach"}


def test_files_without_roles_and_nothing_to_exchange_are_said_in_a_sentence(tmp_path: Path):
    path = tmp_path / "cases.tsv"
    path.write_text(CASES)
    with pytest.raises(
        UserError, match=r"cases.tsv has no roles \(its first sentence, line 2, has none, nor has any ot"
    ):
        probe_roles(reads(labels=CONTENT), [path])
    path.write_text(PROPOSITIONS.replace("Maria\tPROPN", "Maria\tNOUN").replace("Peter\tPROPN", "Peter\tNOUN"))
    with pytest.raises(
        UserError, match=r"no sentence of .*cases.tsv can be used \(.*1 no roles are known.*\); give othe"
    ):
        probe_roles(reads(), [path])


def test_the_same_seed_gives_the_same_exchanges():
    one, again, other = (probe_roles(reads(), seed=seed, max_sentences=8) for seed in (0, 0, 1))
    assert parquet_bytes(one.probe) == parquet_bytes(again.probe) != parquet_bytes(other.probe)
    assert one.manifest.examples == again.manifest.examples


def row(
    measure: str, kind: str, value: float, reach: float, side: str | None = None, count: int = 500
) -> ProbeEstimate:
    return ProbeEstimate("roles", side, kind, measure, value, value - reach, value + reach, count)


DATA = ProbeDataset("made up", "made up", ())


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("flip", "swapped", 0.1, 0.05, CHANGES)], "agrees"),
        ([row("flip", "swapped", 0.9, 0.05, CHANGES)], "disagrees"),
        ([row("flip", "swapped", 0.5, 0.05, CHANGES)], "unknown"),
        ([row("flip", "swapped", 0.1, 0.05, CHANGES, 29)], "unknown"),
        ([row("flip", "beyond voice", 0.4, 0.1, CHANGES)], "seen"),
        ([row("flip", "beyond voice", 0.0, 0.01, CHANGES)], "not seen"),
        ([row("flip", "beyond control", 0.4, 0.1, CHANGES)], "seen"),
        ([row("flip", "beyond control", -0.1, 0.05, CHANGES)], "not seen"),
        ([row("kept", "swapped", 0.9, 0.05)], "seen"),
        ([row("kept", "swapped", 0.2, 0.05)], "not seen"),
        ([row("kept", "beyond control", -0.3, 0.05)], "seen"),
        ([row("kept", "beyond control", 0.0, 0.01)], "not seen"),
        ([row("kept", "beyond control", 0.01, 0.015)], "unknown"),
        ([row("kept", "beyond voice", 0.3, 0.05)], "not seen"),
        ([row("nats", "change", 0.0, 0.01), row("nats", "original", 2.0, 0.1)], "seen"),
        ([row("nats", "change", 0.5, 0.01), row("nats", "original", 2.0, 0.1)], "not seen"),
        ([row("nats", "change", 0.0, 0.3), row("nats", "original", 2.0, 0.1)], "unknown"),
        ([row("nats", "beyond control", -0.5, 0.1), row("nats", "original", 2.0, 0.1)], "seen"),
        ([row("nats", "beyond control", 0.5, 0.1), row("nats", "original", 2.0, 0.1)], "not seen"),
        ([row("distance", "swapped", 0.1, 0.05)], "seen"),
        ([row("distance", "swapped", 0.8, 0.05)], "not seen"),
        ([row("distance", "beyond control", -0.3, 0.05)], "seen"),
        ([row("distance", "beyond control", 0.3, 0.05)], "not seen"),
        ([row("distance", "beyond voice", 0.3, 0.05)], "seen"),
        ([row("distance", "beyond voice", -0.3, 0.05)], "not seen"),
    ],
)
def test_verdicts_follow_the_numbers(rows: list[ProbeEstimate], expected: str):
    claim = claims_of(DATA, ProbeEstimates(tuple(rows)))[0]
    assert claim.verdict == expected and claim.about["data"] == "made up"


def test_more_answers_that_change_are_a_number_above_nought():
    claims = claims_of(
        DATA, ProbeEstimates((row("kept", "swapped", 0.7, 0.05), row("kept", "beyond voice", -0.183, 0.05)))
    )
    assert [claim.ours for claim in claims] == [
        "70.0 % (65.0 to 75.0) stay, of 500 examples",
        "+18.3 points (+13.3 to +23.3) of 500 examples",
    ]
    assert claims[1].verdict == "seen"


@pytest.mark.parametrize(("right", "expected"), [(0.9, "agrees"), (0.52, "unknown")])
def test_nothing_is_unnoticed_by_a_model_that_never_learnt_it(right: float, expected: str):
    alone = [row("accuracy", kind, 0.5, float("nan"), CHANGES) for kind in ("words alone", "one answer")]
    rows = [row("accuracy", "original", right, 0.03, CHANGES), row("flip", "swapped", 0.1, 0.05, CHANGES), *alone]
    claim = claims_of(DATA, ProbeEstimates(tuple(rows)))[0]
    assert claim.verdict == expected and ("(50.0 %)" in claim.why) == (expected == "unknown")
    assert claim.ours == "10.0 % (5.0 to 15.0) change, of 500 examples whose right answer changes"


@pytest.mark.parametrize(("value", "expected"), [(-0.6, "agrees"), (0.3, "disagrees"), (0.0, "disagrees")])
def test_whether_accuracy_falls_is_judged_against_the_new_labels(value: float, expected: str):
    rows = [row("accuracy", "change", value, 0.01), row("flip", "swapped", 0.1, 0.05, CHANGES)]
    assert claims_of(DATA, ProbeEstimates(tuple(rows)))[0].verdict == expected


def test_one_line_says_what_came_of_it():
    rows = [row("accuracy", "original", 0.898, 0.01), row("accuracy", "swapped", 0.259, 0.01)]
    rows += [row("old label", "swapped", 0.8, 0.02, CHANGES), row("accuracy", "control", 0.85, 0.01)]
    assert summary_of(DATA, ProbeEstimates(tuple(rows))) == (
        "made up: accuracy 89.8 % (88.8 to 90.8), after the role swap 25.9 % (24.9 to 26.9), 80.0 % (78.0 to 82.0) "
        "keep the old answer, after a control swap 85.0 % (84.0 to 86.0)"
    )
