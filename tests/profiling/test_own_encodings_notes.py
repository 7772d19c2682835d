"""What a run says of our own nets: which encoding it measured, why a question has no answer, and what can be asked."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from test_own_encodings import own_net
from torch import Tensor

from wherewhat.capture.tokens.batch import ALL, LAST
from wherewhat.cli.main import main
from wherewhat.encodings.registry import ENCODINGS
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk
from wherewhat.profiling.profile import profile
from wherewhat.profiling.reading import SLOW
from wherewhat.runs.registry import Profile

OPAQUE = ["carope", "path", "path_fox", "cope", "dape_v2", "urpe"]


def net_of(name: str, **options: Any) -> Trunk:
    return own_net((name, options), "decoder").float()


def texts(*lengths: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(3, 90, (length,), generator=generator) for length in lengths or (14, 9, 12)]


def lede_of(found: Profile, section: str, folder: Path) -> str:
    """The sentences that a section of the page opens with."""
    page = found.report(folder / "report.html").read_text()
    lede = re.search(rf'<section id="{section}".*?<p class="lede">(.*?)</p>', page, re.DOTALL)
    assert lede is not None
    return re.sub("<.*?>", "", lede[1])


@pytest.mark.parametrize(("name", "over"), [("none", None), ("dape", "none"), ("sinusoidal", None)])
def test_without_a_say_of_slots_the_page_does_not_claim_a_position(name: str, over: str | None, tmp_path: Path):
    found = profile(net_of(name, **({"over": over} if over else {})), texts())
    lede = lede_of(found, "hidden", tmp_path)
    assert lede.startswith("These logits do not depend on slots: any position comes in with the hidden state")
    assert ("mean. splits" in lede) == (over is None), "bent logits have no means"
    assert {layer.logits for layer in found.manifest.layers} == {"position-free"}


@pytest.mark.parametrize("name", OPAQUE)
def test_what_was_not_taken_apart_is_quoted_first_and_asked_otherwise(name: str, tmp_path: Path):
    found = profile(net_of(name), texts())
    reason = found.manifest.layers[0].reason
    assert reason.removeprefix("in ").startswith(name) and found.manifest.layers[0].logits == "undecomposed"
    assert lede_of(found, "hidden", tmp_path).startswith(f"The logits of this model were not decomposed: {reason}.")
    lede = lede_of(found, "heads", tmp_path)
    assert f"Position and content cannot be separated in the logits: {reason}." in lede
    assert "its attention when tokens are permuted at the input" in lede
    assert "input.position_share" in set(found.heads["score"])
    assert "mean. splits" not in lede_of(found, "hidden", tmp_path)


def test_a_table_and_hidden_states_together_are_told_as_before(tmp_path: Path):
    found = profile(net_of("rope"), texts(), hidden=True)
    lede = lede_of(found, "hidden", tmp_path)
    assert lede.startswith("Above the first layer, the content of a key may carry position too")
    assert "cannot be separated" not in lede_of(found, "heads", tmp_path)
    shares = ("input.position_share", "input.symbol_share", "input.other_share")
    assert lede_of(profile(net_of("rope"), texts(), scores=shares), "hidden", tmp_path).startswith(
        "Above the first layer"
    )


@pytest.mark.parametrize("name", OPAQUE)
def test_what_was_not_taken_apart_says_what_can_be_asked(name: str):
    found = profile(net_of(name), texts(), hidden=False)
    (note,) = (note for note in found.manifest.notes if "not decomposed" in note)
    assert note.endswith("With --hidden, tokens are moved at the input instead, and the whole model runs again.")
    assert not any(score.startswith("input.") for score in found.heads["score"])
    with pytest.raises(UserError) as error:
        profile(net_of(name), texts(), scores=("position_share",))
    assert str(error.value).endswith(
        "; ask for input.position_share, which moves tokens and runs the whole model again"
    )
    asked = profile(net_of(name), texts(), scores=("input.position_share",))
    assert set(asked.heads["score"]) == {"input.position_share"}


def test_texts_too_short_to_move_tokens_are_refused_only_if_that_was_asked_for():
    found = profile(net_of("carope"), texts(3, 2))
    assert any("With --hidden" in note for note in found.manifest.notes)
    with pytest.raises(UserError, match="no text is long enough to move tokens"):
        profile(net_of("carope"), texts(3, 2), hidden=True)


def test_frequencies_of_what_bends_rotary_logits_are_refused_by_the_true_reason(tmp_path: Path):
    net = net_of("dape", over="rope")
    with pytest.raises(UserError) as error:
        profile(net, texts(), scores=("locality", "mean_frequency"))
    assert str(error.value).startswith("mean_frequency cannot be measured on ")
    true = "logits are not rotary, as queries and keys are not rotated in channel pairs"
    assert str(error.value).endswith(f": its {true}; leave it out")
    found = profile(net, texts())
    why = (
        "queries and keys are not rotated in channel pairs, so there are no frequencies and mean_frequency has no value"
    )
    assert f"The logits are not rotary: {why}." in found.manifest.notes
    page = found.report(tmp_path / "report.html").read_text()
    assert "its logits are not rotary" in page
    assert "turns no channels" not in page


SCALED = [
    {"kind": "dynamic", "factor": 4.0, "original_length": 8},
    {
        "kind": "longrope",
        "short_factor": [1.0, 1.5, 2.0],
        "long_factor": [2.0, 4.0, 8.0],
        "original_length": 10,
        "factor": 2.0,
    },
]


@pytest.mark.parametrize("scaling", SCALED, ids=lambda scaling: scaling["kind"])
def test_each_text_has_the_frequencies_of_its_own_length(scaling: dict[str, Any]):
    net = net_of("rope", scaling=scaling)
    usual, alone = (profile(net, texts(6, 14, 9, 16), batch_tokens=tokens) for tokens in (2048, 1))
    keys = ["layer", "head", "frequency", "measure"]
    ours, theirs = (found.frequencies.sort(keys) for found in (usual, alone))
    assert ours.select(keys).equals(theirs.select(keys))
    for column in ("theta", "value"):
        torch.testing.assert_close(ours[column].to_torch(), theirs[column].to_torch(), rtol=1e-4, atol=1e-5)
    for found in (usual, alone):
        assert any("the angles of rotation depend on the length of a text" in note for note in found.manifest.notes)
    long = profile(net, texts(16, 16)).frequencies["theta"].unique().sort()
    assert not torch.allclose(long.to_torch(), ours["theta"].unique().sort().to_torch(), rtol=1e-3)


def test_a_plain_rotation_is_the_same_for_texts_of_any_length():
    notes = profile(net_of("rope"), texts(2, 16, 5)).manifest.notes
    assert not any("unlike" in note for note in notes)


def test_the_run_says_which_encoding_it_measured(tmp_path: Path):
    net = net_of("dape", over="rope", hidden=8)
    found = profile(net, texts())
    model = found.manifest.model
    assert model.family == "dape over rope decoder"
    assert model.config == net.config.to_dict()
    assert model.config["encoding_options"] == {"over": "rope", "hidden": 8}
    page = found.report(tmp_path / "report.html").read_text()
    assert "<dd>dape over rope decoder</dd>" in page
    assert "<dt>encoding options</dt><dd>over rope, hidden 8</dd>" in page
    assert "<dt>width</dt><dd>12</dd>" in page


@pytest.mark.parametrize("name", sorted(name for name, record in ENCODINGS.items() if record.wraps is None))
def test_an_encoding_that_wraps_nothing_is_called_by_its_name(name: str):
    assert net_of(name).config.called == name


def test_many_whole_tables_are_announced_before_they_are_built(monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    net, ids = net_of("dape"), texts(16, 12)
    profile(net, ids, queries=4, hidden=False, say=said.append)
    assert not said and SLOW > 4 * 2 * 16**2 * 2 * 2, "a few small ones are quick"
    monkeypatch.setattr("wherewhat.profiling.reading.SLOW", 1000)
    profile(net, ids, queries=4, hidden=False, say=said.append)
    (sentence,) = said
    assert "are read off whole tables, 4 rows of up to 16 × 16 in every layer, which takes long" in sentence
    assert sentence.endswith("--logit-rows 1 reads one row of each text")
    profile(net, [text[:8] for text in ids], queries=4, logit_rows=1, hidden=False, say=said.append)
    profile(net_of("rope"), ids, queries=4, hidden=False, say=said.append)
    assert len(said) == 1, "neither one row of each text nor logits without tables are slow"


@pytest.mark.parametrize(("word", "number"), [("last", LAST), ("all", ALL)])
def test_queries_may_be_words(word: str, number: int):
    net = net_of("rope")
    found, same = (profile(net, texts(), queries=asked) for asked in (word, number))
    assert found.heads.equals(same.heads)
    assert found.manifest.settings["queries"] == word


@pytest.mark.parametrize("queries", ["lats", "8", 2.5, True])
def test_other_words_for_queries_are_refused(queries: Any):
    with pytest.raises(UserError) as error:
        profile(net_of("rope"), texts(), queries=queries)
    assert str(error.value) == f"queries is {queries!r}; give a number of rows, at least 1, or 'last', or 'all'"


def test_means_are_spoken_of_only_where_there_are_any():
    for name, some in (("none", True), ("dape_v2", False)):
        notes = profile(net_of(name), texts(), hidden=True).manifest.notes
        assert any(note.startswith("Means over texts use") for note in notes) == some
        assert any("texts are few for means over texts" in note for note in notes) == some


def test_a_bare_tensor_is_told_to_become_a_list():
    (ids,) = texts(14)
    with pytest.raises(UserError) as error:
        profile(net_of("rope"), ids)
    assert str(error.value) == (
        "the texts are one tensor of 14 token ids, which would be as many texts of one token; put it into a list, [ids]"
    )
    rows = torch.stack(texts(9, 9))
    assert profile(net_of("rope"), rows).heads.equals(profile(net_of("rope"), list(rows)).heads)


def test_token_ids_that_are_not_read_are_counted():
    def notes(*lengths: int) -> list[str]:
        told: list[str] = profile(net_of("rope"), texts(*lengths), hidden=False).manifest.notes
        return [note for note in told if "were not read" in note]

    assert notes(16, 24, 32) == []
    (one,) = notes(23, 16)
    assert one == (
        "The last tokens of one text, 7 in all, were not read: texts are cut into windows of 16 tokens, and what is "
        "left over counts only if it is at least half as long."
    )
    (several,) = notes(23, 34, 16)
    assert several.startswith("The last tokens of 2 texts, 9 in all, were not read")


def test_leaving_out_what_has_no_weight_changes_no_table(monkeypatch: pytest.MonkeyPatch):
    """Shares of bent logits against whole tables of every key, those that may not change places among them."""
    from wherewhat.capture.capture import capture
    from wherewhat.capture.hooks.reader import AttentionRows
    from wherewhat.capture.tokens.batch import batches

    net, pieces = own_net(("dape", {}), "decoder"), list[AttentionRows]()
    with capture(net, pieces.append) as captured:
        for batch in batches(texts(12), queries=ALL, seed=0):
            captured.read(batch)
    for rows in pieces:
        assert rows.logits is not None
        weights_HQK = rows.attention_HQK / rows.attention_HQK.sum(-1, keepdim=True)
        ours, every_K = rows.logits.weighted_moments(weights_HQK), torch.arange(12)
        for row in range(12):
            table_HKS, weight_HK = rows.logits.table(row, every_K, every_K), weights_HQK[:, row]
            slot_HS = torch.einsum("hks,hk->hs", table_HKS, weight_HK)
            content_HK = torch.einsum("hks,hs->hk", table_HKS, weight_HK)
            grand_H = torch.einsum("hs,hs->h", slot_HS, weight_HK)
            spread_H = torch.einsum("hs,hs->h", (slot_HS - grand_H[:, None]).square(), weight_HK)
            torch.testing.assert_close(ours.position_HQ[:, row], spread_H)
            left_HKS = table_HKS - slot_HS[:, None] - content_HK[..., None] + grand_H[:, None, None]
            left_H = torch.einsum("hks,hk,hs->h", left_HKS.square(), weight_HK, weight_HK)
            torch.testing.assert_close(ours.interaction_HQ[:, row], left_H)


def test_the_first_screen_says_why_nobody_stands_out(tmp_path: Path):
    one = profile(net_of("rope"), texts(14), scores=("locality",))
    page = one.report(tmp_path / "report.html").read_text()
    assert (
        "No head is singled out: without intervals, nothing says how reliable a number is. Give two texts or more."
        in page
    )
    assert one.heads.filter(pl.col("low").is_not_null()).is_empty()


def test_the_command_line_says_that_it_will_take_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("wherewhat.profiling.reading.SLOW", 1000)
    net, asked = tmp_path / "net", ["--max-texts", "2", "--queries", "4"]
    assert main(["train", "tiny", "--set", "encoding=dape", "--set", "steps=1", "--out", str(net), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["heads", str(net), *asked, "--out", str(tmp_path / "run")]) == 0
    assert "\nwherewhat: the logits of net are read off whole tables, 4 rows of" in capsys.readouterr().err
    assert main(["heads", str(net), *asked, "--out", str(tmp_path / "quiet"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
