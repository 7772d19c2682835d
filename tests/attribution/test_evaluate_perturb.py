"""Texts with tokens taken away: what stands in their place, and that a batch gives what single texts give."""

import numpy as np
import pytest
import torch
from heads_of_models import classifier, model, own, tokenizer
from torch import Tensor

from wherewhat.attribution.attribute import attribute
from wherewhat.attribution.evaluation import perturb
from wherewhat.attribution.evaluation.perturb import run_perturbed
from wherewhat.attribution.evaluation.variants import MEAN, PerturbableText, perturbable, replacement_of
from wherewhat.capture.loading.load import LoadedModel, LoadSettings, load_by_name, wrap_module
from wherewhat.capture.outputs.language_model import ANSWER, MASKED, NEXT
from wherewhat.capture.outputs.text_outputs import LABELS
from wherewhat.errors import UserError
from wherewhat.nets.trunk import Trunk

IDS = [42, 28, 31, 22, 39, 23, 31, 24, 4, 2, 6, 10, 10, 7, 9, 7, 16]  # a sequence of the built-in net


@pytest.fixture(scope="module")
def tiny() -> LoadedModel:
    return load_by_name("tiny", LoadSettings(dtype="float64"))


def text_of(read: LoadedModel, text: object) -> PerturbableText:
    return perturbable(read, text, attribute(read, text, method="input-x-gradient"))  # type: ignore[arg-type]


def variants(tokens: int, count: int = 7, seed: int = 0) -> np.ndarray:
    drawn_VN = np.random.default_rng(seed).random((count, tokens)) < 0.5
    drawn_VN[0], drawn_VN[1] = True, False
    return drawn_VN


@torch.no_grad()
def check(read: LoadedModel, text: PerturbableText, standing_VN: np.ndarray, logits: list[Tensor]) -> None:
    """Compare with logits of single variants."""
    ours = run_perturbed(read, text, standing_VN)
    for number, logits_C in enumerate(logits):
        assert ours.logit_V[number] == pytest.approx(float(logits_C[text.index]), abs=1e-5)
        assert ours.probability_V[number] == pytest.approx(float(logits_C.softmax(-1)[text.index]), abs=1e-6)
        assert ours.change_V[number] == pytest.approx(float((logits_C - logits[0]).pow(2).sum()), abs=1e-3)
    assert ours.outputs == len(logits[0]) and ours.change_V[0] == pytest.approx(0, abs=1e-9)


@torch.no_grad()
def test_tokens_of_a_task_are_replaced_by_the_mean_embedding(tiny: LoadedModel) -> None:
    net, text = tiny.module, text_of(tiny, IDS)
    assert isinstance(net, Trunk) and text.kind == ANSWER and replacement_of(tiny, ANSWER) == MEAN
    standing_VN, logits = variants(len(IDS)), []
    for standing_N in standing_VN:
        x_TD = net.tokens.weight[IDS].clone()
        x_TD[~torch.from_numpy(standing_N)] = net.tokens.weight.mean(0)
        logits.append(net.head(net.hidden_of(x_TD[None])[0, -1]))
    check(tiny, text, standing_VN, logits)


@torch.no_grad()
@pytest.mark.parametrize("at_once", [1, 2, 1000])
def test_batches_do_not_change_the_result(tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    text, standing_VN = text_of(tiny, IDS), variants(len(IDS))
    whole = run_perturbed(tiny, text, standing_VN)
    monkeypatch.setattr(perturb, "TOKENS", at_once * len(IDS))
    parts = run_perturbed(tiny, text, standing_VN)
    assert parts.logit_V == pytest.approx(whole.logit_V, abs=1e-9)
    assert parts.change_V == pytest.approx(whole.change_V, abs=1e-6)


@torch.no_grad()
def test_special_tokens_stay_and_the_unknown_token_replaces_words() -> None:
    read = wrap_module(classifier("bert", "BertForSequenceClassification"), tokenizer("around"))
    text = text_of(read, "a b c d")
    assert text.slots_N.tolist() == [1, 2, 3, 4] and text.kind == LABELS
    assert replacement_of(read, LABELS).name == "the unknown token [UNK]"
    standing_VN = variants(4)
    rows = [[1, *(id if stands else 4 for id, stands in zip(range(5, 9), row, strict=True)), 2] for row in standing_VN]
    check(read, text, standing_VN, [read.module(torch.tensor([row])).logits[0] for row in rows])


@torch.no_grad()
def test_the_mask_that_is_predicted_is_kept() -> None:
    read = wrap_module(model("bert", "BertForMaskedLM"), tokenizer("around"))
    text = text_of(read, "a b [MASK] d")
    assert text.kind == MASKED and text.slots_N.tolist() == [1, 2, 4]
    standing_VN = variants(3)
    rows = [[1, 5 if row[0] else 4, 6 if row[1] else 4, 3, 8 if row[2] else 4, 2] for row in standing_VN]
    check(read, text, standing_VN, [read.module(torch.tensor([row])).logits[0, 3] for row in rows])


@torch.no_grad()
@pytest.mark.parametrize("way", ["token", "delete"])
def test_two_texts_keep_their_token_types(way: str) -> None:
    read = wrap_module(classifier("bert", "BertForSequenceClassification"), tokenizer("around", types=True))
    text = text_of(read, ("a b", "c"))
    assert text.slots_N.tolist() == [1, 2, 4]
    ours = run_perturbed(read, text, np.array([[True, True, True], [False, True, True]]), way=way)
    rows = [([1, 5, 6, 2, 7, 2], [0, 0, 0, 0, 1, 1]), ([1, 4, 6, 2, 7, 2], [0, 0, 0, 0, 1, 1])]
    if way == "delete":
        rows[1] = [1, 6, 2, 7, 2], [0, 0, 0, 1, 1]
    for number, (ids, types) in enumerate(rows):
        logits_A = read.module(torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits[0]
        assert ours.logit_V[number] == pytest.approx(float(logits_A[text.index]), abs=1e-5)


@torch.no_grad()
def test_the_first_token_after_an_encoder() -> None:
    read = wrap_module(model("t5", "T5ForConditionalGeneration", decoder_start_token_id=0))
    text = text_of(read, [5, 6, 7, 8])
    standing_VN, logits = variants(4), []
    weight_VD, start_BT = read.module.get_input_embeddings().weight, torch.zeros(1, 1).long()  # type: ignore[operator]
    for standing_N in standing_VN:
        x_TD = weight_VD[[5, 6, 7, 8]].clone()
        x_TD[~torch.from_numpy(standing_N)] = weight_VD.mean(0)
        logits.append(read.module(inputs_embeds=x_TD[None], decoder_input_ids=start_BT).logits[0, -1])
    check(read, text, standing_VN, logits)


@torch.no_grad()
def test_a_language_model_without_a_tokenizer_reads_mean_embeddings() -> None:
    read = wrap_module(model("llama", "LlamaForCausalLM"))
    text = text_of(read, [5, 6, 7, 8])
    assert text.kind == NEXT and replacement_of(read, NEXT) == MEAN
    standing_VN, logits = variants(4), []
    weight_VD = read.module.get_input_embeddings().weight  # type: ignore[operator]
    for standing_N in standing_VN:
        x_TD = weight_VD[[5, 6, 7, 8]].clone()
        x_TD[~torch.from_numpy(standing_N)] = weight_VD.mean(0)
        logits.append(read.module(inputs_embeds=x_TD[None]).logits[0, -1])
    check(read, text, standing_VN, logits)


@torch.no_grad()
def test_tokens_can_be_left_out(tiny: LoadedModel) -> None:
    """Then the rest moves together; without any token, one mean embedding is read."""
    net, text, standing_VN = tiny.module, text_of(tiny, IDS), variants(len(IDS))
    assert isinstance(net, Trunk)
    ours = run_perturbed(tiny, text, standing_VN, way="delete")
    for number, standing_N in enumerate(standing_VN):
        ids = [id for id, stands in zip(IDS, standing_N, strict=True) if stands]
        x_TD = net.tokens.weight[ids] if ids else net.tokens.weight.mean(0, keepdim=True)
        logits_V = net.head(net.hidden_of(x_TD[None])[0, -1])
        assert ours.logit_V[number] == pytest.approx(float(logits_V[text.index]), abs=1e-9)


@torch.no_grad()
def test_a_mask_moves_with_the_tokens_before_it() -> None:
    read = wrap_module(model("bert", "BertForMaskedLM"), tokenizer("around"))
    text, standing_VN = text_of(read, "a b [MASK] d"), np.array([[True, False, True], [False, False, False]])
    ours = run_perturbed(read, text, standing_VN, way="delete")
    for number, (row, slot) in enumerate([([1, 5, 3, 8, 2], 2), ([1, 3, 2], 1)]):
        logits_V = read.module(torch.tensor([row])).logits[0, slot]
        assert ours.logit_V[number] == pytest.approx(float(logits_V[text.index]), abs=1e-5)


def test_the_replacement_is_the_mask_if_there_is_no_unknown_token() -> None:
    words = tokenizer("around")
    words.unk_token = None
    read = wrap_module(model("bert", "BertForMaskedLM"), words)
    assert replacement_of(read, MASKED).name == "the mask token [MASK]"
    words.mask_token = None
    assert replacement_of(read, NEXT).name == "the padding token [PAD]"
    assert replacement_of(read, LABELS) == MEAN  # classifiers may take the padding for the end of a text


def test_the_model_is_as_it_was(tiny: LoadedModel) -> None:
    ids_BT = torch.tensor([IDS])
    before = tiny.module(ids_BT)
    run_perturbed(tiny, text_of(tiny, IDS), variants(len(IDS)))
    assert torch.equal(tiny.module(ids_BT), before)


@torch.no_grad()
def test_words_of_our_own_classifier_are_replaced_by_the_unknown_word() -> None:
    read = own(labels=("yes", "no"))
    text = text_of(read, "a b c")
    unknown = read.tokenizer.unk_token_id
    ours = run_perturbed(read, text, np.array([[True, False, True]]))
    ids = [*text.ids_T.tolist()]
    ids[1] = unknown
    assert isinstance(read.module, Trunk)
    logits_A = read.module.label_logits(torch.tensor([ids]))[0]
    assert ours.logit_V[0] == pytest.approx(float(logits_A[text.index]), abs=1e-9)


def test_bad_requests_are_refused(tiny: LoadedModel) -> None:
    with pytest.raises(UserError, match="unknown way to take tokens away 'remove'"):
        run_perturbed(tiny, text_of(tiny, IDS), variants(len(IDS)), way="remove")
    read = wrap_module(classifier("bert", "BertForSequenceClassification"), tokenizer("around"))
    with pytest.raises(UserError, match="a text has special tokens alone"):
        text_of(read, [1, 2])
