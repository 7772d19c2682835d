"""Encode texts as token ids, cut into windows that the model can hold."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel
from wherewhat.corpora.speech.base import SpeechCorpus
from wherewhat.corpora.speech.features import TOKEN_MS, tokens_of
from wherewhat.errors import UserError
from wherewhat.tables.texts import Text

OWN = "its own texts"  # in a manifest, where no texts were given
TEST_SEED = 1  # of the utterances that a net that hears is tested on
LONGEST = 1024  # tokens per window by default, if the model can hold that many


@dataclass(frozen=True)
class EncodedTexts:
    """Windows of token ids, the text that each was cut from, and notes on what was cut or left out."""

    ids: list[Tensor]
    origins: list[int]  # for each window its text, numbered over the texts that gave at least one window
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, ids: Sequence[Tensor]) -> "EncodedTexts":
        """Texts of one window each."""
        return cls(list(ids), list(range(len(ids))))

    @property
    def texts(self) -> int:
        """How many whole texts the windows come from."""
        return len(set(self.origins))


def encode(
    model: LoadedModel,
    texts: Iterable[str | Tensor | Text],
    *,
    max_tokens: int | None,
    max_texts: int,
    add_bos: bool = False,
) -> EncodedTexts:
    """Tokenise texts (token ids are used as they are) and cut long ones into windows, until there are `max_texts`.

    A left-over window shorter than half is dropped: scores depend on length, and it would only add noise.
    """
    window = window_for(model, max_tokens, more=int(add_bos))
    tokeniser = _Tokeniser(model, window, add_bos)
    ids: list[Tensor] = []
    origins: list[int] = []
    dropped: list[int] = []
    for number, text in enumerate(texts):
        pieces = tokeniser(text, number)
        kept = [piece for piece in pieces if piece is pieces[0] or 2 * len(piece) >= window][: max_texts - len(ids)]
        if len(kept) == len(pieces) - 1 and 2 * len(pieces[-1]) < window:
            dropped.append(len(pieces[-1]) - (0 if isinstance(text, Tensor) else tokeniser.special))
        ids += kept
        origins += [number] * len(kept)
        if len(ids) == max_texts:
            break
    if not ids:
        raise UserError("there is no text to read; give --text FILE with at least one text in it")
    check_vocabulary(model, ids)
    check_known(model, ids)
    notes = [*_notes(model, ids, origins, dropped, window), *tokeniser.notes]
    return EncodedTexts(ids, origins, notes)


def _notes(
    model: LoadedModel, ids: Sequence[Tensor], origins: Sequence[int], dropped: Sequence[int], window: int
) -> list[str]:
    """What a reader should know about texts that were cut, not read to their end, or too long for the model."""
    notes, windows = [], [count for count in Counter(origins).values() if count > 1]
    if windows:
        texts, was = ("One text is", "was") if len(windows) == 1 else (f"{len(windows)} texts are", "were")
        notes.append(
            f"{texts} longer than {window} tokens and {was} cut into {sum(windows)} windows, which ran separately."
        )
    if dropped:
        texts = "one text" if len(dropped) == 1 else f"{len(dropped)} texts"
        notes.append(
            f"The last tokens of {texts}, {sum(dropped)} in all, were not read: texts are cut into windows of {window} "
            "tokens, and what is left over counts only if it is at least half as long."
        )
    longest, context = max(map(len, ids)), model.context
    if context is not None and longest > context:
        long = sum(len(text) > context for text in ids)
        notes.append(
            f"{long} of {len(ids)} windows {'is' if long == 1 else 'are'} longer than the {context} positions that "
            f"{model.id} was made for (up to {longest} tokens): beyond them its attention is extrapolation, not what "
            f"it learnt; --max-tokens {context} keeps to what it knows."
        )
    return notes


def window_for(model: LoadedModel, max_tokens: int | None, *, more: int = 0) -> int:
    """The number of tokens per window: as requested, but never more than a position table holds.

    `more` special tokens are added to every text beside those of the tokenizer.
    """
    if max_tokens is None:
        return min(model.context or LONGEST, LONGEST)
    special = more + (0 if model.tokenizer is None else model.tokenizer.num_special_tokens_to_add())
    if max_tokens <= special:
        raise UserError(
            f"max_tokens is {max_tokens}, and {special} special token(s) are added to every text that {model.id} "
            f"reads; ask for at least {special + 1}"
        )
    if model.table is not None and max_tokens > model.table:
        raise UserError(
            f"max_tokens is {max_tokens}, but {model.id} has a table of {model.table} positions; "
            f"ask for at most {model.table}"
        )
    return max_tokens


class _Tokeniser:
    """Turns texts into windows of token ids, strings after a beginning-of-text token on request."""

    def __init__(self, model: LoadedModel, window: int, add_bos: bool) -> None:
        self.model, self.window = model, window
        self.front = (_bos_to_add(model),) if add_bos else ()
        self.notes: list[str] = []  # filled when the first string is read

    @property
    def special(self) -> int:
        """The number of special tokens in a window."""
        return len(self.front) + int(tokenizer_of(self.model).num_special_tokens_to_add())

    def __call__(self, text: str | Tensor | Text, number: int) -> list[Tensor]:
        """All windows of one text."""
        if isinstance(text, Tensor):
            pieces = list(text.flatten().long().cpu().split(self.window))
        else:
            content, tokenizer = text.content if isinstance(text, Text) else text, tokenizer_of(self.model)
            if not self.notes and not self.front:
                self.notes = _without_bos(self.model)
            pieces = _tokenise(tokenizer, content, self.window - len(self.front))
            pieces = [torch.cat([torch.tensor(self.front, dtype=torch.long), piece]) for piece in pieces]
        where = text.where if isinstance(text, Text) else f"text {number}"
        if not pieces or len(pieces[0]) < 2:
            raise UserError(
                f"{where} has {len(pieces[0]) if pieces else 0} token(s); a text needs at least 2, take it out"
            )
        return pieces


def _named_bos(model: LoadedModel) -> int | None:
    """The beginning-of-text token in the model's config, if its tokenizer treats it as special."""
    named = getattr(model.text_config, "bos_token_id", None)
    return named if named in getattr(model.tokenizer, "all_special_ids", ()) else None


def _token_in_front(tokenizer: Any) -> int | None:
    """The token that a tokenizer adds before every text by itself, if there is one."""
    bare, whole = (tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
    return None if whole[: len(bare)] == bare else int(whole[0])


def _without_bos(model: LoadedModel) -> list[str]:
    """A note if texts lack the beginning-of-text token that the config names."""
    named = _named_bos(model)
    if named is None or _token_in_front(model.tokenizer) is not None:
        return []
    return [
        f"The config of {model.id} names a beginning-of-text token ({token_names(model, torch.tensor([named]))[0]})"
        " that its tokenizer does not add, so no text began with it. If the model was trained with it, heads that use "
        "it as an attention sink behave differently here; --add-bos adds it to every text."
    ]


def _bos_to_add(model: LoadedModel) -> int:
    """The beginning-of-text token to add before texts, on request."""
    tokenizer = tokenizer_of(model)
    if (there := _token_in_front(tokenizer)) is not None:
        name = token_names(model, torch.tensor([there]))[0]
        raise UserError(f"the tokenizer of {model.id} already adds {name} before every text; leave out --add-bos")
    named = _named_bos(model)
    named = getattr(tokenizer, "bos_token_id", None) if named is None else named
    if named is None:
        raise UserError(
            f"neither the config nor the tokenizer of {model.id} names a beginning-of-text token; leave out --add-bos"
        )
    return int(named)


def tokenizer_of(model: LoadedModel) -> Any:
    """The tokenizer of a model, which must have one."""
    if model.hears:
        raise UserError(
            f"{model.id} hears speech and cannot read text; leave the text out to use utterances of its corpus"
        )
    if model.tokenizer is None and model.task is not None:
        raise UserError(
            f"{model.id} knows only the tokens of the tasks that it was trained on ({model.task.name}) and cannot "
            "read text; leave the text out to use sequences of these tasks, or choose a language model"
        )
    if model.tokenizer is None:
        raise UserError(
            f"{model.no_tokenizer}, so it cannot read text; save one beside the model, or pass token ids from Python"
        )
    return model.tokenizer


def _tokenise(tokenizer: Any, content: str, window: int) -> list[Tensor]:
    """Ids of one text as windows of at most `window` tokens, each with the tokenizer's own special tokens."""
    if getattr(tokenizer, "is_fast", False):
        pieces = tokenizer(content, truncation=True, max_length=window, return_overflowing_tokens=True)["input_ids"]
    else:
        ids = tokenizer(content, add_special_tokens=False)["input_ids"]
        room = max(1, window - tokenizer.num_special_tokens_to_add())
        cuts = range(0, max(1, len(ids)), room)
        pieces = [tokenizer.build_inputs_with_special_tokens(ids[start : start + room]) for start in cuts]
    return [torch.tensor(piece, dtype=torch.long) for piece in pieces]


def check_vocabulary(model: LoadedModel, encoded: list[Tensor]) -> None:
    """Refuse token ids outside the model's vocabulary."""
    largest = max(int(ids.max()) for ids in encoded)
    smallest = min(int(ids.min()) for ids in encoded)
    size = model.vocabulary
    if smallest < 0 or largest >= size:
        worst = smallest if smallest < 0 else largest
        raise UserError(
            f"token id {worst} does not fit {model.id}, whose vocabulary has {size} entries; "
            "use the tokenizer that belongs to the model"
        )


def check_known(model: LoadedModel, encoded: list[Tensor]) -> None:
    """Refuse texts of which most tokens are unknown: the tokenizer does not fit them, or the model."""
    unknown = getattr(model.tokenizer, "unk_token_id", None)
    if unknown is None:
        return
    strange, total = sum(int((ids == unknown).sum()) for ids in encoded), sum(map(len, encoded))
    if 2 * strange > total:
        raise UserError(
            f"{strange} of {total} tokens are unknown to the tokenizer of {model.id}; "
            "give texts of the kind it was made for, or the tokenizer that belongs to the model"
        )


def own_texts(model: LoadedModel, count: int, seed: int, max_tokens: int | None) -> EncodedTexts:
    """Test sequences of the task, or test sentences of the corpus, of one of our nets."""
    if model.corpus is not None:
        window, tokenizer = window_for(model, max_tokens), tokenizer_of(model)
        try:
            sentences = model.corpus.some("test", count, seed=seed)
        except UserError as error:
            reason = str(error).partition(";")[0]
            raise UserError(f"the corpus of {model.id} cannot be read: {reason}; give --text FILE") from error
        if not sentences:
            raise UserError(f"the corpus of {model.id} has no test sentence; give --text FILE")
        return EncodedTexts.of([_tokenise(tokenizer, sentence.text, window)[0] for sentence in sentences])
    if model.speech is not None:
        return own_utterances(model, model.speech, count, max_tokens)
    if model.task is None:
        raise UserError(f"there is no text for {model.id}; give --text FILE (one text per line)")
    if max_tokens is not None and max_tokens < model.task.length:
        raise UserError(
            f"max_tokens is {max_tokens}, and the sequences of {model.id} have {model.task.length} tokens, which "
            "cannot be cut; leave it out"
        )
    texts = model.task.texts(seed, "test", range(count))
    return EncodedTexts.of([torch.from_numpy(text_T) for text_T in texts])


def own_utterances(model: LoadedModel, speech: SpeechCorpus, count: int, max_tokens: int | None) -> EncodedTexts:
    """Test utterances of the corpus of a net that hears, as the frames of their tokens."""
    if max_tokens is not None:
        raise UserError(f"max_tokens is {max_tokens}, and utterances of {model.id} cannot be cut; leave it out")
    try:
        speech.check()
        split = speech.plain_test
        spoken = [speech.utterance(TEST_SEED, split, number) for number in range(speech.count(split, count))]
        utterances = [tokens_of(each.samples) for each in spoken]
    except UserError as error:
        reason = str(error).partition(";")[0]
        raise UserError(f"the recordings of {model.id} cannot be read: {reason}; put them back") from error
    whole = EncodedTexts.of([torch.from_numpy(tokens_TG) for tokens_TG in utterances if len(tokens_TG) > 1])
    note = (
        f"This net hears: a token is {TOKEN_MS} ms of an utterance, so an offset of 1 is {TOKEN_MS} ms. Tokens are all "
        "different, so scores of tokens that occur twice have no value."
    )
    return replace(whole, notes=[note])


def token_names(model: LoadedModel, ids: Tensor) -> list[str]:
    """The tokens as readable strings."""
    if model.hears:
        return [f"{slot * TOKEN_MS / 1000:.2f} s" for slot in range(len(ids))]
    if model.task is not None:
        return [model.task.token(int(id)) for id in ids]
    if model.tokenizer is not None:
        return [str(name) for name in model.tokenizer.convert_ids_to_tokens(ids.tolist())]
    return [str(int(id)) for id in ids]
