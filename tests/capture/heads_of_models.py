"""Tiny random models with heads (labels, tokens, none) and tokenizers that know 26 words, in memory and in folders."""

from dataclasses import replace
from pathlib import Path

import torch
import transformers
from families import FAMILIES, Family
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from wherewhat.capture.loading.load import LoadedModel as Read
from wherewhat.capture.loading.load import word_tokenizer, wrap_module
from wherewhat.corpora.vocabulary import WordVocabulary
from wherewhat.nets.build import build
from wherewhat.nets.config import NetConfig

BY_NAME = {family.name: family for family in FAMILIES}
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
WORDS = [*SPECIAL, *"abcdefghijklmnopqrstuvwxyz"]
FORMS = {  # how a tokenizer writes one text and two
    "around": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
    "before": ("[CLS] $A", "[CLS] $A [SEP] $B"),
    "bare": ("$A", "$A [SEP] $B"),
    "behind": ("$A [SEP] [CLS]", "$A [SEP] $B:1 [SEP]:1 [CLS]:1"),
}
NAMES = ("entailment", "neutral", "contradiction")


def tokenizer(form: str, *, types: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer of single letters; it says which of two texts a token belongs to, if asked for."""
    inner = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.pre_tokenizer = WhitespaceSplit()
    single, pair = FORMS[form]
    inner.post_processor = TemplateProcessing(single=single, pair=pair, special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    roles = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]", "cls_token": "[CLS]"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, sep_token="[SEP]", model_input_names=names, **roles)


def model(family: str, kind: str, **sizes: object) -> transformers.PreTrainedModel:
    """A random model of a family, built from the class `kind`, with biases that are not 0."""
    family_: Family = replace(BY_NAME[family], model=kind)
    made = family_.build(seed=3, **sizes)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return made


def classifier(family: str, kind: str, **sizes: object) -> transformers.PreTrainedModel:
    """A classifier with three labels that have names."""
    labels = {"id2label": dict(enumerate(NAMES)), "label2id": {name: n for n, name in enumerate(NAMES)}}
    return model(family, kind, **{**labels, **sizes})


def folder(where: Path, made: transformers.PreTrainedModel, form: str, *, types: bool = False) -> str:
    """The model and its tokenizer, as they are found on disk."""
    made.save_pretrained(where)
    tokenizer(form, types=types).save_pretrained(where)
    return str(where)


def own(*, labels: tuple[str, ...] = (), words: tuple[str, ...] = tuple("abcdefgh."), **sizes: object) -> Read:
    """A net of ours that reads letters, in float64."""
    known = WordVocabulary.learn([words])
    default = {"width": 16, "layers": 2, "heads": 2, "length": 12, "kind": "encoder", "encoding": "learned"}
    config = NetConfig(vocabulary=len(known), labels=labels, **{**default, **sizes})  # type: ignore[arg-type]
    return wrap_module(build(config, seed=2).double(), word_tokenizer(known))
