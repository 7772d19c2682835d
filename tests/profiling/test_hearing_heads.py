"""The heads of a net that hears: the same profile, on its own utterances; what needs words is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import batches
from wherewhat.capture.tokens.encode import own_texts, token_names
from wherewhat.cli.main import main
from wherewhat.corpora.speech.digits import SpokenDigits
from wherewhat.corpora.speech.features import tokens_of
from wherewhat.corpora.speech.tones import TouchTones
from wherewhat.editing.edit import edit
from wherewhat.encodings.base import Context, Encoding
from wherewhat.errors import UserError
from wherewhat.models.folder import save_model
from wherewhat.nets.attention import attend, attention_rows
from wherewhat.nets.build import build
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.recipes.conformer_digits import conformer_digits

NET = replace(conformer_digits().net, width=16, layers=2, heads=2, kernel=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("net")
    save_model(place, build(NET, seed=2), speech=TouchTones())
    return place


def attention_of(net: Trunk, frames_TG: torch.Tensor) -> torch.Tensor:
    """attention_HQK of the first block, on one utterance alone."""
    module, kept = net.blocks[0].attention, list[torch.Tensor]()

    def watching(encoding: Encoding, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: Context) -> torch.Tensor:
        kept.append(attention_rows(encoding, q, k, at, torch.arange(q.shape[2])))
        return attend(encoding, q, k, v, at)

    module.attend = watching
    net.hidden(frames_TG[None])
    module.attend = attend
    return kept[0][0]


@torch.no_grad()
def test_scores_are_those_of_the_attention_to_its_utterances(folder: Path) -> None:
    run = profile(str(folder), max_texts=5, untrained=False, queries="all")
    net = build(NET, seed=2).eval()
    values, masses = [], []
    for number in range(5):
        samples = TouchTones().utterance(1, "test", number).samples
        attention_HQK = attention_of(net, torch.from_numpy(tokens_of(samples)))
        values.append(attention_HQK.diagonal(dim1=1, dim2=2))
        masses.append(attention_HQK[0].diagonal(1).sum() / len(attention_HQK[0]))
    ours = run.heads.filter(layer=0, head=0, score="self")["value"].item()
    assert ours == pytest.approx(float(torch.cat(values, 1)[0].mean()), abs=0.05)
    assert run.offsets.filter(layer=0, head=0, offset=1)["mass"].sum() > 0
    scores = dict(run.heads.group_by("score").agg(pl.col("value").is_not_null().any()).iter_rows())
    assert (
        scores["position_share"]
        and scores["locality"]
        and not scores["duplicate"]
        and "input.position_share" not in scores
    )
    assert any("a token is 40 ms of an utterance" in note for note in run.manifest.notes)
    assert run.manifest.texts.example[0].tokens[:3] == ["0.00 s", "0.04 s", "0.08 s"]


def test_the_same_rows_are_read_of_an_utterance_in_any_company() -> None:
    model = LoadedModel("net", build(NET, seed=2), speech=TouchTones())
    texts = own_texts(model, 6, 0, None).ids
    alone = {len(text): next(batches([text], queries=3, seed=4)) for text in texts}
    for batch in batches(texts, queries=3, seed=4):
        assert batch.frames_BTG is not None
        for b, number in enumerate(batch.texts):
            size = len(texts[number])
            assert torch.equal(batch.rows[b], next(batches([texts[number]], queries=3, seed=4)).rows[0])
            assert torch.equal(batch.frames_BTG[b, :size], texts[number]) and batch.ids_BT[b, size - 1] == size - 1
    assert alone and token_names(model, texts[0])[-1] == f"{(len(texts[0]) - 1) * 0.04:.2f} s"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--random"], "hears speech, of which no stretch is a word that can be repeated or moved; leave out --random"),
        (["--positional"], "can be repeated or moved; leave out --positional"),
        (["--hidden"], "can be repeated or moved; leave out --hidden"),
        (["--scores", "mean.position"], "can be repeated or moved; leave out --hidden"),
        (
            ["--text", "letters"],
            "hears speech and cannot read text; leave the text out to use utterances of its corpus",
        ),
        (["--max-tokens", "9"], "max_tokens is 9, and utterances of"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_needs_words_is_refused(
    words: list[str], sentence: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["heads", str(folder), *words, "--out", str(tmp_path / "run"), "--quiet"]) == 2
    assert sentence in capsys.readouterr().err


def test_recordings_that_are_gone_are_named(tmp_path: Path) -> None:
    save_model(tmp_path, build(NET, seed=2), speech=SpokenDigits("nowhere"))
    with pytest.raises(UserError, match="cannot be read: nowhere is no folder; put them back"):
        profile(str(tmp_path))


def test_a_page_is_drawn(folder: Path, tmp_path: Path) -> None:
    words = ["heads", str(folder), "--max-texts", "3", "--out", str(tmp_path / "run"), "--quiet", "--json"]
    assert main(words) == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["texts"]["count"] == 3 and "0.04 s" in (tmp_path / "run" / "report.html").read_text()
    assert np.isfinite(pl.read_parquet(tmp_path / "run" / "offsets.parquet")["mass"].to_numpy()).all()


@torch.no_grad()
def test_an_edit_changes_what_a_net_hears_and_is_undone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net, frames_BTG = (
        build(NET, seed=2).eval(),
        torch.from_numpy(tokens_of(TouchTones().utterance(1, "test", 0).samples)),
    )
    before = net(frames_BTG[None])
    with edit(net, unrotate=["all"]):
        assert not torch.allclose(net(frames_BTG[None]), before)
    assert torch.equal(net(frames_BTG[None]), before)
    assert main(["edit", str(folder), "--drop", "high:0.25", "--out", str(tmp_path / "run"), "--quiet"]) == 2
    assert "hears speech, and an edit is measured by the loss on text; edit it in Python" in capsys.readouterr().err
