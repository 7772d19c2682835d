"""Parts of the syntax experiment: choosing in one half and scoring in the other, near and far, and its settings."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from wherewhat.corpora.base import split_of
from wherewhat.corpora.registry import corpus_from
from wherewhat.encodings.attenuated import Attenuated
from wherewhat.encodings.base import Context
from wherewhat.probing.dependencies.relation_rows import RelationRows
from wherewhat.probing.dependencies.scoring import EACH
from wherewhat.probing.dependencies.settings import ALL, SIDES
from wherewhat.probing.dependencies.split_half_scores import CHOICES, KINDS, ScoredRows
from wherewhat.studies.engine.study import of_run
from wherewhat.studies.syntax.claims import PARTS
from wherewhat.studies.syntax.results import DISTANCES
from wherewhat.studies.syntax.run import STUDY
from wherewhat.studies.syntax.settings import SCALES

HEADS, OFFSETS = 3, 4


@pytest.fixture(scope="module")
def scored() -> ScoredRows:
    """Random rows of three relations, one of them rare."""
    drawn = np.random.default_rng(5)
    rows = 120
    relation_N = drawn.choice(["det", "obj", "obl"], rows, p=[0.5, 0.45, 0.05])
    parts = {name: drawn.random((rows, HEADS)) < 0.4 for name in (*PARTS, "shuffled")}
    asked_rows = RelationRows(
        sentence_N=np.arange(rows),
        half_N=drawn.integers(0, 2, rows),
        from_N=np.arange(rows),
        to_N=np.zeros(rows, dtype=np.int64),
        offset_N=drawn.choice([-7, -2, -1, 1, 2, 4, 9], rows),
        relation_N=relation_N,
        side_N=np.full(rows, SIDES[0]),
        chance_N=drawn.random(rows),
    )
    return ScoredRows(asked_rows, {**parts, "offset": drawn.random((rows, OFFSETS)) < 0.3})


def by_hand(scored: ScoredRows, kind: str, which: list[int]) -> list[float]:
    """By plain loops: choose where the half is another one, count where it is this one."""
    by, counted = CHOICES[kind]
    found = []
    for row in which:
        hits = Counter(dict.fromkeys(range(scored.hits[by].shape[1]), 0))
        for other in which:
            if scored.rows.half_N[other] != scored.rows.half_N[row]:
                hits.update({who: int(hit) for who, hit in enumerate(scored.hits[by][other])})
        best = min(hits, key=lambda who: (-hits[who], who))
        found.append(float(scored.hits[counted][row][best]))
    return found


def test_shares_are_those_of_plain_loops(scored: ScoredRows) -> None:
    told = {(item, far, kind): value for item, far, kind, value in scored.shares(20)}
    rows = scored.rows
    of = {name: [n for n in range(len(rows)) if rows.relation_N[n] == name] for name in ("det", "obj")}
    for kind in CHOICES:
        each = {}
        for name, which in of.items():
            hits = by_hand(scored, kind, which)
            assert told[name, ALL, kind] == pytest.approx(np.mean(hits), abs=1e-12)
            each |= dict(zip(which, hits, strict=True))
        assert told[EACH, ALL, kind] == pytest.approx(np.mean(list(each.values())), abs=1e-12)
        both = sorted(each)
        assert told[ALL, ALL, kind] == pytest.approx(np.mean(by_hand(scored, kind, both)), abs=1e-12)
        for far, (at, end) in {"1": (1, 1), "2": (2, 2), "3-5": (3, 5), "6+": (6, 99)}.items():
            near = [each[n] for n in both if at <= abs(rows.offset_N[n]) <= end]
            assert told[EACH, far, kind] == pytest.approx(np.mean(near), abs=1e-12)
            assert told[EACH, far, "rows"] == len(near)
    assert told["det", ALL, "uniform"] == pytest.approx(rows.chance_N[of["det"]].mean())
    assert told["obj", ALL, "distance"] == pytest.approx(np.abs(rows.offset_N[of["obj"]]).mean())


def test_a_rare_relation_is_left_out_everywhere(scored: ScoredRows) -> None:
    told = list(scored.shares(20))
    assert {item for item, *_ in told} == {"det", "obj", ALL, EACH}
    counted = next(value for item, far, kind, value in told if (item, far, kind) == (EACH, ALL, "rows"))
    assert counted == np.isin(scored.rows.relation_N, ["det", "obj"]).sum() < len(scored.rows)
    assert "obl" in scored.frequent(2)


def test_a_relation_in_one_half_alone_cannot_choose(scored: ScoredRows) -> None:
    one = scored.take(scored.rows.half_N == 0)
    assert one.frequent(2) == []


def test_a_head_that_is_right_in_one_half_only_gains_nothing_there() -> None:
    """Chosen where it is scored it would be right half of the time; held out it is never right."""
    half_N = np.array([0, 0, 1, 1])
    right_NH = np.stack([half_N == 0, half_N == 1], 1)
    zeros = np.zeros(4, dtype=np.int64)
    rows = RelationRows(
        zeros, half_N, zeros, zeros, zeros + 1, np.full(4, "det"), np.full(4, SIDES[0]), np.full(4, 0.5)
    )
    scored = ScoredRows(rows, dict.fromkeys((*PARTS, "shuffled", "offset"), right_NH))
    found = scored.hits_by_kind()
    assert set(found) == set(KINDS)
    assert {float(found[kind].mean()) for kind in CHOICES} == {0.0}


def test_shuffled_sentences_are_read_by_heads_that_were_chosen_in_order() -> None:
    """The first head is best in order, the second among shuffled words, the third by content alone."""
    half_N, zeros = np.arange(8) % 2, np.zeros(8, dtype=np.int64)
    rows = RelationRows(
        zeros, half_N, zeros, zeros, zeros + 1, np.full(8, "det"), np.full(8, SIDES[0]), np.full(8, 0.2)
    )
    best = {"full": 0, "shuffled": 1, "contextual": 2, "positional": 0, "offset": 0}
    hits = {name: np.tile(np.arange(3) == head, (8, 1)) for name, head in best.items()}
    told = {kind: float(found_N.mean()) for kind, found_N in ScoredRows(rows, hits).hits_by_kind().items()}
    assert told["full"] == told["by position"] == told["contextual"] == 1.0
    assert (
        told["shuffled"] == told["by position, shuffled"] == told["by content, shuffled"] == told["by content"] == 0.0
    )


def test_a_fixed_offset_finds_its_own_distance_and_no_other() -> None:
    """A head is chosen for the relation, not for a distance: it does not become right at every distance."""
    offset_N = np.array([1] * 6 + [2] * 4)
    looks_NH = np.stack([offset_N == 1, offset_N == 2], 1)
    half_N, zeros = np.arange(10) % 2, np.zeros(10, dtype=np.int64)
    rows = RelationRows(
        zeros, half_N, zeros, zeros, offset_N, np.full(10, "det"), np.full(10, SIDES[0]), np.full(10, 0.2)
    )
    scored = ScoredRows(rows, dict.fromkeys((*PARTS, "shuffled", "offset"), looks_NH))
    told = {(far, kind): value for item, far, kind, value in scored.shares(2) if item == EACH}
    assert told["1", "positional"] == 1.0 and told["2", "positional"] == 0.0 and told[ALL, "positional"] == 0.6


def test_distances_are_those_of_the_probe() -> None:
    assert DISTANCES == {1: "1", 2: "2", 3: "3-5", 6: "6+"}


def test_every_scale_has_trials_of_all_kinds() -> None:
    for scale in SCALES.values():
        conditions = scale.conditions()
        assert {condition.family for condition in conditions} == {"log", "reference"}
        assert {condition.s for condition in conditions if condition.family == "log"} >= {1.0, 0.25}
        assert {"learned", "rope", "deberta", "none"} <= {condition.name for condition in conditions}
        assert scale.seeds >= 3
    assert "steps" in SCALES["paper"].unknown and SCALES["tiny"].unknown == ()


def test_a_run_does_not_depend_on_which_others_there_are() -> None:
    tiny, small = SCALES["tiny"], SCALES["small"]
    job = STUDY.job(tiny.conditions()[0], tiny, 3)
    assert job.settings["seed"] == 3 and job.name == "log w 0.0505, seed 3" and job.steps == tiny.steps
    scale = job.settings["scale"]
    assert scale["steps"] == tiny.steps and scale["corpus"] == {"name": "grammar", "seed": 1, "past": False}
    of_study = {"localities": small.localities, "sides": small.sides, "references": small.references}
    larger = replace(tiny, **of_study, seeds=9, chosen="other words", unknown=("steps",))
    assert STUDY.job(tiny.conditions()[0], larger, 3) == job and of_run(larger) == of_run(tiny) != tiny
    assert STUDY.job(tiny.conditions()[0], replace(tiny, probed=301), 3) != job


def test_sentences_to_be_probed_on_are_fresh_and_other_ones_for_each_seed() -> None:
    tiny = SCALES["tiny"]
    first, second = (corpus_from(tiny.corpus).some("test", tiny.probed, seed=seed) for seed in (0, 1))
    assert len(first) == tiny.probed and {split_of(one.text) for one in first} == {"test"}
    assert [one.text for one in first] != [one.text for one in second]
    assert all(one.head for one in first)


def test_the_positional_part_of_a_curve_names_the_neighbour_ahead_however_local_it_is() -> None:
    """Why full attention is asked where locality is judged."""
    import torch

    zeros_BHTC = torch.zeros(1, 1, 9, 4)
    for condition in SCALES["tiny"].conditions():
        if condition.family == "log" and condition.s == 0.25:
            bias_HTT = Attenuated(heads=1, **condition.options).bias(
                zeros_BHTC, zeros_BHTC, Context.of(9, causal=False)
            )[0]
            away_TT = bias_HTT[0].masked_fill(torch.eye(9, dtype=torch.bool), -torch.inf)
            assert (away_TT.argmax(-1)[:-1] == torch.arange(1, 9)).all()
