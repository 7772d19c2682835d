"""Turn texts into the token ids that a model reads, cut to what it can hold."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from wherewhat.capture.load import Subject
from wherewhat.corpora.base import Corpus
from wherewhat.errors import UserError
from wherewhat.tables.texts import Text

OWN = "its own texts"  # what a manifest says of texts that were not given
LONGEST = 1024  # tokens a text is cut to unless asked otherwise or the model holds fewer


def encode(
    subject: Subject, texts: Iterable[str | Tensor | Text], *, max_tokens: int | None, max_texts: int
) -> tuple[list[Tensor], list[str]]:
    """Tokenise texts (token ids are taken as they are) and cut long ones into windows, until there are `max_texts`.

    Beside them, what has to be said of token ids that were left out.
    """
    window = window_for(subject, max_tokens)
    dropped: list[int] = []
    encoded = list(islice(_windows(subject, texts, window, dropped), max_texts))
    if not encoded:
        raise UserError("there is no text to read; give --text FILE with at least one text in it")
    check_vocabulary(subject, encoded)
    check_known(subject, encoded)
    return encoded, _left_out(dropped, window)


def _left_out(dropped: Sequence[int], window: int) -> list[str]:
    """Say how many token ids were not read at the ends of how many texts."""
    if not dropped:
        return []
    texts = "one text" if len(dropped) == 1 else f"{len(dropped)} texts"
    return [
        f"Of {texts} the last tokens, {sum(dropped)} in all, were not read: texts are cut into windows of {window} "
        "tokens, and what is left over counts only if it is at least half as long."
    ]


def window_for(subject: Subject, max_tokens: int | None) -> int:
    """How many tokens a text may have: what was asked for, but never more than a table of positions holds."""
    if max_tokens is None:
        return min(subject.context or LONGEST, LONGEST)
    special = 0 if subject.tokenizer is None else subject.tokenizer.num_special_tokens_to_add()
    if max_tokens <= special:
        raise UserError(
            f"max_tokens is {max_tokens}, and the tokenizer of {subject.id} adds {special} tokens of its own to every "
            f"text; ask for at least {special + 1}"
        )
    if subject.table is not None and max_tokens > subject.table:
        raise UserError(
            f"max_tokens is {max_tokens}, but {subject.id} has a table of {subject.table} positions; "
            f"ask for at most {subject.table}"
        )
    return max_tokens


def _windows(
    subject: Subject, texts: Iterable[str | Tensor | Text], window: int, dropped: list[int]
) -> Iterator[Tensor]:
    """A left-over window shorter than half is dropped: scores depend on length, and it would only add noise.

    How long it was goes into `dropped` where token ids were handed in, which nobody expects to be cut.
    """
    for number, text in enumerate(texts):
        where = text.where if isinstance(text, Text) else f"text {number}"
        if isinstance(text, Tensor):
            pieces = list(text.flatten().long().cpu().split(window))
        else:
            pieces = _tokenise(tokenizer_of(subject), text.content if isinstance(text, Text) else text, window)
        if not pieces or len(pieces[0]) < 2:
            raise UserError(
                f"{where} has {len(pieces[0]) if pieces else 0} token(s); a text needs at least 2, take it out"
            )
        if isinstance(text, Tensor) and len(pieces) > 1 and 2 * len(pieces[-1]) < window:
            dropped.append(len(pieces[-1]))
        yield pieces[0]
        yield from (piece for piece in pieces[1:] if 2 * len(piece) >= window)


def tokenizer_of(subject: Subject) -> Any:
    """What turns texts into a model's token ids."""
    if subject.tokenizer is None:
        raise UserError(
            f"{subject.id} has no tokenizer, so it cannot read text; save one beside the model, "
            "or hand in token ids from Python"
        )
    return subject.tokenizer


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


def check_vocabulary(subject: Subject, encoded: list[Tensor]) -> None:
    """Refuse token ids that the model does not know."""
    largest = max(int(ids.max()) for ids in encoded)
    smallest = min(int(ids.min()) for ids in encoded)
    size = subject.vocabulary
    if smallest < 0 or largest >= size:
        worst = smallest if smallest < 0 else largest
        raise UserError(
            f"token id {worst} does not fit {subject.id}, whose vocabulary has {size} entries; "
            "use the tokenizer that belongs to the model"
        )


def check_known(subject: Subject, encoded: list[Tensor]) -> None:
    """A tokenizer that knows hardly a word of the texts is not theirs, or not the model's."""
    unknown = getattr(subject.tokenizer, "unk_token_id", None)
    if unknown is None:
        return
    strange, total = sum(int((ids == unknown).sum()) for ids in encoded), sum(map(len, encoded))
    if 2 * strange > total:
        raise UserError(
            f"{strange} of {total} tokens are unknown to the tokenizer of {subject.id}; "
            "give texts of the kind it was made for, or the tokenizer that belongs to the model"
        )


def own_texts(subject: Subject, count: int, seed: int, max_tokens: int | None) -> list[Tensor]:
    """Fresh sequences of the task, or sentences of the corpus, of a net of ours; no split that it has learnt from."""
    if subject.corpus is not None:
        return _own_sentences(subject, subject.corpus, (count, seed), max_tokens)
    if subject.task is None:
        raise UserError(f"there is no text for {subject.id}; give --text FILE (one text a line)")
    if max_tokens is not None and max_tokens < subject.task.length:
        raise UserError(
            f"max_tokens is {max_tokens}, and the sequences of {subject.id} have {subject.task.length} tokens, which "
            "cannot be cut; leave it out"
        )
    input_NT = subject.task.batch(seed, "test", range(count)).input_NT
    return list(torch.from_numpy(input_NT))


def _own_sentences(subject: Subject, corpus: Corpus, some: tuple[int, int], max_tokens: int | None) -> list[Tensor]:
    """Test sentences of the corpus that a net has read; how many, and the seed that decides which."""
    window, tokenizer = window_for(subject, max_tokens), tokenizer_of(subject)
    count, seed = some
    try:
        sentences = corpus.some("test", count, seed=seed)
    except UserError as error:
        reason = str(error).partition(";")[0]
        raise UserError(f"what {subject.id} has read cannot be read again: {reason}; give --text FILE") from error
    if not sentences:
        raise UserError(f"the corpus that {subject.id} has read holds no test sentence; give --text FILE")
    return [_tokenise(tokenizer, sentence.text, window)[0] for sentence in sentences]


def token_names(subject: Subject, ids: Tensor) -> list[str]:
    """What the tokens are called, for people."""
    if subject.task is not None:
        return [subject.task.token(int(id)) for id in ids]
    if subject.tokenizer is not None:
        return [str(name) for name in subject.tokenizer.convert_ids_to_tokens(ids.tolist())]
    return [str(int(id)) for id in ids]
