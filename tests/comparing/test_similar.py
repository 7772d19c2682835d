"""Heads of two models side by side: what is the same is found again, shapes may differ, tokens may not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from wherewhat.capture.capture import capture
from wherewhat.capture.loading.load import LoadedModel, word_tokenizer, wrap_module
from wherewhat.capture.tokens.batch import ALL, batches
from wherewhat.cli.main import main
from wherewhat.comparing import attention_similarity
from wherewhat.comparing.attention_similarity import similar_heads
from wherewhat.comparing.compare import compare
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.errors import UserError
from wherewhat.models.folder import save_model
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig
from wherewhat.nets.trunk import Trunk
from wherewhat.runs.registry import load
from wherewhat.scores.entropy import divergence
from wherewhat.tables.schema import SIMILARITY


def net(seed: int = 1, **sizes: object) -> Trunk:
    shape = {"vocabulary": 40, "width": 16, "layers": 2, "heads": 2, "length": 32, "kind": "decoder"}
    made = build(NetConfig(**{**shape, "encoding": "rope", **sizes}), seed=seed).double()  # type: ignore[arg-type]
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(3)  # so that attention is far from even
    return made


def texts(*lengths: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(0, 40, (length,), generator=generator) for length in lengths]


TEXTS = texts(12, 9, 12)


def exchanged(model: Trunk) -> Trunk:
    """The same net with the two heads of its first layer in the other order."""
    block = model.blocks[0].attention
    with torch.no_grad():
        block.qkv.weight.copy_(block.qkv.weight.view(3, 2, 8, 16).flip(1).reshape(48, 16))
        block.out.weight.copy_(block.out.weight.view(16, 2, 8).flip(1).reshape(16, 16))
    return model


def test_heads_that_changed_places_are_found_again():
    section = similar_heads(wrap_module(net()), [wrap_module(exchanged(net()))], TEXTS)[0].section
    assert {(pair.head, pair.against) for pair in section.partners} == {
        ("L0H0", "L0H1"),
        ("L0H1", "L0H0"),
        ("L1H0", "L1H0"),
        ("L1H1", "L1H1"),
    }
    assert section.one_to_one.value < 1e-9 < section.shuffled.one_to_one.value


def test_the_table_by_whole_matrices_of_both():
    first, other = net(), net(2, layers=1, heads=4)
    table = similar_heads(wrap_module(first), [wrap_module(other)], TEXTS)[0].table
    assert dict(table.schema) == SIMILARITY and table.height == 4 * 4

    def shown(model: Trunk) -> dict[tuple[int, int], torch.Tensor]:
        found = {}
        with capture(model, lambda rows: found.update({(rows.site.ordinal, rows.text): rows.attention_HQK})) as read:
            for batch in batches(TEXTS, queries=ALL, seed=0):
                read.read(batch)
        return found

    here, there = shown(first), shown(other)
    for layer in range(2):
        theirs = [
            divergence(there[0, text], here[layer, text], torch.ones(len(TEXTS[text]), len(TEXTS[text])).tril().bool())
            for text in range(3)
        ]
        of_layer = table.filter(pl.col("against_layer") == layer).sort("head", "against_head")
        ours = of_layer["divergence"].to_numpy().reshape(4, 2)
        assert ours == pytest.approx(torch.stack(theirs).mean(0).numpy())


def test_a_comparison_has_it_beside_what_changed(tmp_path: Path):
    found = compare([net(), net(2)], TEXTS, similar=True, scores=("entropy",))
    assert found.compare.height and found.similarity.height == 16
    assert [pair.model for pair in found.manifest.similar] == [found.similarity["model"][0]]
    found.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.tables["similarity.parquet"].equals(found.similarity)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Heads that are alike" in page and "bits apart" in page
    assert "similar" in found.page.figures


def test_without_it_there_is_no_table():
    assert set(compare([net(), net(2)], TEXTS, scores=("entropy",)).tables) == {"compare.parquet"}


def test_models_of_other_shape_are_compared_by_attention_and_by_scores(tmp_path: Path):
    models = [net(), net(2, layers=3, heads=4, encoding="none")]
    found = compare(models, TEXTS, similar=True)
    assert [(pair.by, len(pair.partners)) for pair in found.manifest.similar] == [
        ("attention", 4),
        ("scores", 4),
    ]
    assert found.similarity.group_by("by", maintain_order=True).len().rows() == [("attention", 48), ("scores", 48)]
    found.save(tmp_path / "run")
    assert "no head has a counterpart" in (tmp_path / "run" / "report.html").read_text()
    bare = compare(models, TEXTS)
    assert set(bare.similarity["by"]) == {"scores"} and bare.compare.equals(found.compare)


def test_untrained_weights_stand_beside_where_they_are_asked_for():
    found = compare([net()], TEXTS, untrained=1, similar=True, scores=("entropy",))
    assert set(found.similarity["model"]) == {"untrained weights"}


def test_the_first_model_is_read_once_for_all_others():
    first, read = net(), list[int]()
    hook = first.blocks[0].register_forward_pre_hook(lambda *_: read.append(1))
    several = similar_heads(wrap_module(first), [wrap_module(net(seed)) for seed in (2, 3)], TEXTS)
    passes = len(read)
    hook.remove()
    assert passes == 2 * len(list(batches(TEXTS, queries=ALL, seed=0))), "the texts, and their tokens in another order"
    for seed, together in zip((2, 3), several, strict=True):
        alone = similar_heads(wrap_module(net()), [wrap_module(net(seed))], TEXTS)[0]
        assert together.table.equals(alone.table) and together.section == alone.section


def test_the_same_seed_gives_the_same_table():
    one, same = (similar_heads(wrap_module(net()), [wrap_module(net(2))], TEXTS, seed=3)[0] for _ in range(2))
    assert one.table.equals(same.table) and one.section == same.section


def test_many_heads_are_drawn_layer_by_layer(monkeypatch: pytest.MonkeyPatch):
    from wherewhat.report.pages.compare import similar as page

    table = similar_heads(wrap_module(net()), [wrap_module(net(2))], TEXTS)[0].table
    monkeypatch.setattr(page, "MOST", 10)
    section = page.similar_heads_section(table, [])
    assert section is not None and "Each cell is a pair of layers" in section.lede
    cells = section.body.placed[0].views[0].tables["rows"]
    assert sorted(set(cells["here"])) == ["L0", "L1"] and len(cells["here"]) == 4
    nearest = table.filter((pl.col("layer") == 0) & (pl.col("against_layer") == 1))["divergence"].min()
    at = [(here, there) for here, there in zip(cells["here"], cells["there"], strict=True)].index(("L0", "L1"))
    assert cells["divergence"][at] == pytest.approx(np.round(nearest, 4))


def reader(*words: str) -> LoadedModel:
    """A net with a tokenizer of whole words."""
    known = WordVocabulary.learn([list(words)])
    return replace(wrap_module(net(vocabulary=len(known)), word_tokenizer(known)), id="-".join(words[:1]))


def test_other_tokens_are_refused_whether_texts_are_words_or_ids():
    one, same, other = reader("a", "b", "c"), reader("a", "b", "c"), reader("a", "b", "d")
    words = ["a b c b a", "b b a c"]
    assert compare([one, replace(same, id="again")], words, similar=True, scores=("entropy",)).similarity.height
    for texts in (words, [torch.tensor([3, 4, 5, 3]), torch.tensor([5, 5, 4])]):
        with pytest.raises(UserError, match="reads the texts in other tokens than .* leave --similar out"):
            compare([one, replace(other, id="other")], texts, similar=True, scores=("entropy",))


def test_a_model_that_holds_less_says_so():
    with pytest.raises(UserError, match="holds 8 tokens .* give --max-tokens 8"):
        compare([net(), net(2, encoding="learned", length=8)], TEXTS, similar=True)


def test_texts_that_come_one_by_one_are_the_same_for_both():
    said = [f"{first} b c b a" for first in "abcabc"]
    one, other = reader("a", "b", "c"), replace(reader("a", "b", "c"), id="again")
    listed, streamed = (
        compare([one, other], texts, similar=True, scores=("entropy",), max_texts=4) for texts in (said, iter(said))
    )
    assert listed.compare.equals(streamed.compare) and listed.similarity.equals(streamed.similarity)
    assert streamed.manifest.texts.count == 4


def test_special_tokens_stay_in_place_when_the_others_are_mixed():
    ids, special = torch.tensor([1, 5, 6, 7, 8, 2]), torch.tensor([1, 2])
    mixed = attention_similarity._permuted(ids, special, torch.Generator().manual_seed(0))
    assert mixed[[0, -1]].tolist() == [1, 2] and sorted(mixed.tolist()) == sorted(ids.tolist())
    assert not torch.equal(mixed, ids)


def test_attention_that_is_no_number_is_refused():
    broken = net(2)
    with torch.no_grad():
        broken.blocks[0].attention.qkv.weight.mul_(1e200)
    with pytest.raises(UserError, match="is not finite on these texts; load it with --dtype float32"):
        similar_heads(wrap_module(net()), [wrap_module(broken)], TEXTS)[0]


def test_names_may_hold_any_letter(tmp_path: Path):
    one, other = (replace(wrap_module(net(seed)), id=name) for seed, name in ((1, 'it\'s "a"'), (2, "<b>")))
    found = compare([one, other], TEXTS, similar=True, scores=("entropy",))
    assert found.figures(tmp_path)


def test_one_model_is_not_two(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    save_model(tmp_path / "a", net())
    assert main(["compare", str(tmp_path / "a"), "--similar", "--out", str(tmp_path / "run")]) == 2
    assert "is alone; name something to compare it with" in capsys.readouterr().err


def test_few_texts_are_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attention_similarity, "TEXTS", 1)
    section = similar_heads(wrap_module(net()), [wrap_module(net(2))], TEXTS)[0].section
    assert section.texts == 1 and section.min.low is None
