"""Which output is explained, and the sentences for targets, texts and models that have none."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from head_models import BY_NAME, IDS, MASK, NumberTokenizer, with_head
from test_encodings_ledger import config_of, net_of
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import BertProcessing
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, BertConfig, BertForSequenceClassification, LlamaConfig, LlamaModel
from transformers import PreTrainedTokenizerFast as FastTokenizer

import wherewhat as ww
from wherewhat.attribution.attribute import attribute, open_model
from wherewhat.attribution.check import check_attribution
from wherewhat.attribution.explain import METHODS
from wherewhat.attribution.ledger import Ledger, LedgerEntry
from wherewhat.attribution.outputs import choose_output
from wherewhat.capture.loading.load import LoadedModel, wrap_module
from wherewhat.capture.outputs.text_outputs import classify
from wherewhat.errors import UserError

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sees", "a", "dog", "sleeps")
TASK_IDS = [42, 28, 31, 22, 39, 23, 31, 24, 4, 2, 6, 10, 10, 7, 9, 7, 16]


def word_tokenizer() -> FastTokenizer:
    """Whole words between [CLS] and [SEP], and token types for the two texts of a pair."""
    tokenizer = Tokenizer(WordLevel({word: id for id, word in enumerate(WORDS)}, "[UNK]"))
    tokenizer.pre_tokenizer, tokenizer.post_processor = Whitespace(), BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return FastTokenizer(tokenizer_object=tokenizer, mask_token="[MASK]", model_max_length=32, **special)


def bert(labels: int = 3) -> LoadedModel:
    """A classifier of texts and of pairs."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, num_labels=labels, **sizes)
    model = BertForSequenceClassification(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return LoadedModel("judge", model, word_tokenizer())


def masked() -> LoadedModel:
    return replace(with_head(BY_NAME["bert"], vocab_size=len(WORDS)), tokenizer=word_tokenizer())


@pytest.fixture(scope="module")
def llama() -> LoadedModel:
    return with_head(BY_NAME["llama"])


def refusal(model: Any, text: Any = IDS, **how: Any) -> str:
    with pytest.raises(UserError) as error:
        attribute(model, text, **how)
    return str(error.value)


def test_a_language_model_explains_its_next_token_or_a_given_one(llama: LoadedModel):
    with torch.no_grad():
        logits_C = llama.module(torch.tensor([IDS])).logits[0, -1]
    likeliest, given = attribute(llama, IDS), attribute(llama, IDS, target=17)
    assert likeliest.output == attribute(llama, IDS, target="next").output
    assert likeliest.output.index == int(logits_C.argmax()) and likeliest.output.slot == len(IDS) - 1
    assert (given.output.name, given.output.index, given.output.kind) == ("17", 17, "next")
    assert given.output.probability == pytest.approx(logits_C.softmax(-1)[17].item())
    assert given.output.logit == pytest.approx(logits_C[17].item()) == pytest.approx(given.ledger.logit)
    assert given.tokens == tuple(map(str, IDS)) and given.ids == tuple(IDS)


def test_a_masked_model_explains_its_mask():
    model = masked()
    attribution = attribute(model, "the [MASK] sees a dog", target="cat")
    assert attribution.output.slot == 2 and attribution.output.name == "cat" and attribution.output.kind == "masked"
    assert attribution.tokens == ("[CLS]", "the", "[MASK]", "sees", "a", "dog", "[SEP]")
    sentences = {"the cat": "the text has 0 masks; write [MASK] once", "[MASK] [MASK]": "the text has 2 masks; write"}
    for text, sentence in sentences.items():
        assert refusal(model, text).startswith(sentence)


@pytest.mark.parametrize("text", ["the cat sleeps", ("the cat sees a dog", "a dog sleeps")], ids=["text", "pair"])
def test_a_classifier_explains_its_label_for_a_text_or_a_pair(text: str | tuple[str, str]):
    model = bert()
    texts = (text,) if isinstance(text, str) else text
    (logits_A,) = classify(model, [texts])
    attribution = attribute(model, text, target="LABEL_1")
    assert attribution.output.logit == pytest.approx(logits_A[1]) and attribution.output.name == "LABEL_1"
    assert attribute(model, text).output.index == logits_A.argmax()
    assert attribution.ledger.balances() and attribution.ledger.others  # token types


def test_a_net_explains_the_answer_to_its_task():
    attribution = attribute("tiny", TASK_IDS, target="p")
    assert (attribution.output.name, attribution.output.kind) == ("p", "answer")
    assert refusal("tiny", TASK_IDS, target="nothing").startswith("unknown token 'nothing'; ")
    assert refusal("tiny", "some words").startswith("tiny knows only the tokens of the tasks that it was trained on")


def test_a_net_from_memory_reads_numbers():
    net = net_of(config_of("rope", "decoder"))
    assert attribute(net, torch.tensor([1, 2, 3])).output.kind == "next"
    assert attribute(net_of(config_of("rope", "encoder")), [1, 2, 3]).output.kind == "answer"


def test_targets_that_are_not_there_are_refused(llama: LoadedModel):
    judge, words = bert(), replace(llama, tokenizer=word_tokenizer())
    assert refusal(llama, target=99) == (
        "token 99 is not in the vocabulary of llama, which has 99 entries; give a number from 0 to 98"
    )
    assert "token -1 is not in the vocabulary" in refusal(llama, target=-1)
    assert refusal(words, target="horse") == (
        "'horse' is not in the vocabulary of llama; give a token that is, or its number"
    )
    assert refusal(words, target="the cat") == "'the cat' is 2 tokens of llama; give a single token, or its number"
    assert refusal(judge, "the cat", target=3) == "judge has no label 3; it has 0 LABEL_0, 1 LABEL_1, 2 LABEL_2"
    assert refusal(judge, "the cat", target="LABEL_5").startswith("unknown label 'LABEL_5'; did you mean 'LABEL_2'?")
    assert refusal(llama, target="mask") == ("llama has no mask to explain: it gives a next token; give another target")
    assert refusal(judge, "the cat", target="next") == (
        "judge has no next to explain: it gives a label; give another target"
    )
    assert refusal(llama, target="label").startswith("llama has no labels, so it cannot classify a text; name a")


def test_models_without_an_output_are_refused():
    config = LlamaConfig(
        vocab_size=99, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2
    )
    sentence = (
        "predicts neither tokens nor one of several labels, so it has no output to explain; save it with such a head"
    )
    assert sentence in refusal(LlamaModel(config).eval())
    assert sentence in refusal(bert(labels=1), "the cat")
    xlnet = with_head(BY_NAME["xlnet"])
    assert attribute(xlnet, IDS).output.kind == "labels"
    headless = LoadedModel("xlnet", AutoModelForCausalLM.from_config(xlnet.module.config).eval(), NumberTokenizer())
    assert sentence in refusal(headless)


def test_texts_that_do_not_fit_are_refused(llama: LoadedModel):
    assert refusal(llama, [5] * 65) == "the text has 65 tokens and llama holds 64; shorten it"
    assert refusal(bert(), "cat " * 40) == "the text has 42 tokens and judge holds 32; shorten it"
    assert refusal(net_of(config_of("learned", "decoder")), [1] * 17).startswith("the text has 17 tokens and")
    assert refusal(llama, []) == "the text has no token; give at least one"
    assert refusal(llama, [5, 99]).startswith("token id 99 does not fit llama, whose vocabulary has 99 entries")


def test_unknown_names_are_refused(llama: LoadedModel):
    assert refusal(llama, method="palrp").startswith("unknown method 'palrp'; did you mean 'pa-lrp'? known: attnlrp,")
    assert refusal(llama, aggregate="sum").startswith("unknown aggregate 'sum'; ")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_explained_in_float32_and_said(llama: LoadedModel, dtype: torch.dtype):
    half = wrap_module(with_head(BY_NAME["llama"]).module.to(dtype), NumberTokenizer())
    attribution = attribute(half, IDS)
    name = str(dtype).removeprefix("torch.")
    assert attribution.notes == (f"llama is in {name}; its relevance was computed by a copy in float32.",)
    assert attribution.relevance.dtype == torch.float32 and attribution.ledger.balances()
    assert next(half.module.parameters()).dtype == dtype
    full = open_model(half)
    assert open_model(full) is full and attribute(full, IDS).notes == attribution.notes


def test_a_copy_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch):
    def no_room(_: object) -> object:
        raise MemoryError

    monkeypatch.setattr("wherewhat.attribution.attribute.deepcopy", no_room)
    model = wrap_module(with_head(BY_NAME["llama"]).module.to(torch.bfloat16), NumberTokenizer())
    assert refusal(model) == (
        "llama is in bfloat16, and a copy in float32, which relevance needs, does not fit into memory; "
        "explain a smaller model"
    )


class NoNumber(torch.autograd.Function):
    """The same tensor, whose gradient is lost."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * torch.nan


class Losing(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return NoNumber.apply(self.inner(x))


@pytest.mark.parametrize("layer", [0, 1])
def test_the_layer_is_named_in_which_relevance_is_lost(layer: int):
    model = with_head(BY_NAME["llama"])
    model.module.model.layers[layer].mlp = Losing(model.module.model.layers[layer].mlp)
    assert refusal(model) == (
        f"the relevance that model.layers.{layer} of LlamaForCausalLM passes back is not finite; "
        "check its weights, or load it in float64"
    )
    net = net_of(config_of("rope", "decoder"))
    net.blocks[layer].mlp = Losing(net.blocks[layer].mlp)
    assert f"the relevance that blocks.{layer} of Decoder passes back is not finite" in refusal(net, [1, 2, 3])


def test_the_first_layer_is_named_whose_output_overflows():
    model = with_head(BY_NAME["llama"])

    def overflow(_: nn.Module, __: object, output: Tensor) -> Tensor:
        return output * torch.inf if output.shape[1] > 4 else output

    model.module.model.layers[0].mlp.register_forward_hook(overflow)
    assert refusal(model) == (
        "model.layers.0 of LlamaForCausalLM gives numbers that are not finite, so nothing can be explained; "
        "check its weights, or load it in float64"
    )
    head = with_head(BY_NAME["llama"])
    head.module.lm_head.register_forward_hook(overflow)
    assert "the relevance that the head of LlamaForCausalLM passes back is not finite" in refusal(head)


def test_random_scores_follow_from_the_seed_and_the_text(llama: LoadedModel):
    scores = [
        attribute(llama, ids, method="random", seed=seed).scores_T for ids, seed in ((IDS, 0), (IDS, 0), (IDS, 1))
    ]
    assert torch.equal(scores[0], scores[1]) and not torch.equal(scores[0], scores[2])
    other = attribute(llama, IDS[::-1], method="random").scores_T
    assert not torch.equal(scores[0], other)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_explains_the_same_output(llama: LoadedModel, method: str):
    attribution = attribute(llama, IDS, method=method)
    assert attribution.output == attribute(llama, IDS).output and attribution.method == method
    assert attribution.scores_T.shape == (len(IDS),) and attribution.scores_T.isfinite().all()
    assert (attribution.ledger is None) == (method in ("input-x-gradient", "rollout", "random"))


def test_gradients_times_values_are_plain_ones(llama: LoadedModel):
    x_BTD = llama.module.get_input_embeddings()(torch.tensor([IDS])).detach().requires_grad_()
    llama.module(inputs_embeds=x_BTD).logits[0, -1].max().backward()
    expected_T = (x_BTD * x_BTD.grad)[0].sum(-1).detach()
    torch.testing.assert_close(attribute(llama, IDS, method="input-x-gradient").token_T, expected_T)


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_rollout_of_a_label_begins_where_the_label_is_read(kind: str):
    net = net_of(config_of("rope", kind, layers=1, labels=("yes", "no")))
    scores_T = attribute(net, [1, 2, 3, 4], method="rollout").scores_T
    assert scores_T.sum().item() == pytest.approx(1)
    assert (scores_T >= 1 / 4 / 2).all()  # read from the mean of four slots, half of each its own
    cls_T = attribute(bert(), "the cat sleeps", method="rollout").scores_T
    assert cls_T[0] > 1 / 4 and cls_T[0] == cls_T.max()  # read from [CLS] alone, and half of it kept twice


def test_a_check_prints_every_node_and_returns_the_ledger(capsys: pytest.CaptureFixture[str], llama: LoadedModel):
    ledger = check_attribution(llama, IDS)
    lines = capsys.readouterr().out.splitlines()
    nodes = [
        "tokens",
        "rotation, layer 0",
        "rotation, layer 1",
        "softmax, layer 0",
        "softmax, layer 1",
        "biases",
        "others",
    ]
    assert [line[:22].strip() for line in lines] == ["logit", *nodes, "rest"]
    assert float(lines[0].split()[-1]) == pytest.approx(ledger.logit, rel=1e-3)
    plain = ledger.to_dict()
    assert plain["balances"] and plain["rest"] == ledger.rest and plain["entries"][1]["node"] == "rotation"
    assert sum(entry["value"] for entry in plain["entries"]) + plain["rest"] == pytest.approx(plain["logit"])
    assert all(isinstance(value, float | bool | list) for value in plain.values())


def test_a_check_refuses_what_cannot_be_added_up(llama: LoadedModel):
    with pytest.raises(UserError, match="the method rollout passes nothing back that could be added up; use pa-lrp"):
        check_attribution(llama, IDS, method="rollout")
    falcon = with_head(BY_NAME["falcon"], alibi=True)
    with pytest.raises(UserError, match="relevance is lost in FalconForCausalLM"):
        check_attribution(falcon, IDS)


def test_a_ledger_balances_up_to_the_rounding_of_its_type():
    entries = [LedgerEntry("tokens", None, 1.0), LedgerEntry("bias", 0, 0.5), LedgerEntry("softmax", 0, -0.25)]
    ledger = Ledger.of(1.25 + 1e-5, entries, torch.float32, flow=1.75)
    assert (ledger.tokens, ledger.positions, ledger.softmax) == (1.0, 0.5, -0.25)
    assert ledger.rest == pytest.approx(1e-5) and ledger.balances() and not ledger.balances(torch.float64)
    assert not replace(ledger, logit=1.2503).balances()


def test_both_are_public():
    assert ww.attribute("tiny", TASK_IDS).output.name == "z"
    assert ww.check_attribution("tiny", TASK_IDS).balances()


def test_the_choice_runs_the_model_on_its_own_device(llama: LoadedModel):
    choice = choose_output(llama, IDS, "")
    assert choice.ids_BT.tolist() == [IDS] and choice.logits().shape == (99,) and MASK in IDS
