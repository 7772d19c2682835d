"""A small model folder on disk, with a tokenizer."""

from pathlib import Path

from families import FAMILIES
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

BY_NAME = {family.name: family for family in FAMILIES}
WORDS = ["[UNK]", *"abcdefghijklmnopqrstuvwxyz", "<script>", '"']


def save_model(path: Path, family: str = "llama") -> Path:
    """A whole model folder: config, weights, tokenizer."""
    BY_NAME[family].build().save_pretrained(path)
    save_tokenizer(path)
    return path


def save_tokenizer(path: Path, words: list[str] = WORDS) -> None:
    """One token a word, whatever the words are."""
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(path)
