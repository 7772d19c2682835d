"""The baseline of learning nothing: fresh weights of the same architecture on the same texts."""

import polars as pl
import pytest
import torch
from families import FAMILIES

from wherewhat.capture.loading.load import untrained_copy, wrap_module
from wherewhat.capture.tokens.batch import generator_of
from wherewhat.profiling import untrained as module
from wherewhat.profiling.profile import profile
from wherewhat.tables import cache
from wherewhat.tables.manifest.scores import UntrainedSection

BY_NAME = {family.name: family for family in FAMILIES}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


def texts(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(3, 90, (24,), generator=generator) for _ in range(count)]


def test_the_baseline_is_the_mean_over_heads_of_fresh_weights():
    model, ids = BY_NAME["llama"].build(), texts(3)
    ours = profile(model, ids).heads
    drawn = min(ids, key=lambda text: generator_of(text, 0).initial_seed())  # one window of four, by its tokens
    theirs = profile(untrained_copy(wrap_module(model), seed=0).module, [drawn], untrained=False).heads
    means = theirs.group_by("layer", "score").agg(theirs=pl.col("value").mean())
    both = ours.join(means, on=["layer", "score"]).drop_nulls(["untrained", "theirs"])
    assert both.height > 100
    assert both["untrained"].to_list() == pytest.approx(both["theirs"].to_list(), rel=1e-4, abs=1e-5)


def test_models_with_position_in_hidden_states_have_one_too():
    heads = profile(BY_NAME["bert"].build(), texts(5)).heads
    shares = heads.filter(pl.col("score") == "input.position_share")
    assert shares.height and shares["untrained"].null_count() == 0


def test_it_is_measured_once_and_then_recalled(folder, monkeypatch: pytest.MonkeyPatch):
    model, ids = BY_NAME["llama"].build(), texts(3)
    first = profile(model, ids)
    assert len(list((folder / "untrained").glob("*.json"))) == 1
    monkeypatch.setattr(module, "untrained_copy", lambda *_, **__: pytest.fail("it was measured again"))
    again = profile(model, ids)
    assert again.heads.equals(first.heads)
    for kept in (folder / "untrained").glob("*.json"):
        kept.write_text("{broken")
    with pytest.raises(pytest.fail.Exception):
        profile(model, ids)


@pytest.mark.parametrize("other", [{"seed": 1}, {"logit_rows": 2}, {"tau": (0.5,)}])
def test_other_settings_are_another_baseline(folder, other: dict):
    model, ids = BY_NAME["llama"].build(), texts(3)
    profile(model, ids)
    profile(model, ids, **other)
    assert len(list((folder / "untrained").glob("*.json"))) == 2


def test_large_models_are_left_alone_and_that_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LARGEST", 10)
    model, ids = BY_NAME["llama"].build(), texts(2)
    found = profile(model, ids)
    assert found.heads["untrained"].null_count() == found.heads.height and found.manifest.untrained is None
    assert any(note.startswith("No untrained baseline was measured: ") for note in found.manifest.notes)
    asked = profile(model, ids, untrained=True)
    assert asked.manifest.untrained == UntrainedSection(windows=1, seed=0)


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "file"))
    assert profile(BY_NAME["llama"].build(), texts(2)).manifest.untrained is not None
