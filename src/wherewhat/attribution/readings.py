"""The texts that are explained, as a model reads them: strings, pairs of them, windows, or its own sequences."""

from collections.abc import Iterable
from itertools import islice

import torch
from torch import Tensor

from wherewhat.attribution.outputs import ids_of, kind_of
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.outputs.language_model import MASKED, NEXT
from wherewhat.capture.outputs.text_outputs import LABELS
from wherewhat.capture.tokens.batch import generator_of
from wherewhat.capture.tokens.encode import EncodedTexts, check_known, encode, own_texts
from wherewhat.capture.tokens.full_texts import TOGETHER, encode_full_text, too_long
from wherewhat.errors import UserError
from wherewhat.tables.texts import Text

PAIR = "\t"  # between two texts that a classifier reads together
Reading = str | tuple[str, ...] | Tensor  # as `attribute` takes it


def readings_of(
    model: LoadedModel, texts: Iterable[str | Text | Tensor], *, count: int, window: int | None, add_bos: bool
) -> tuple[list[Reading], EncodedTexts]:
    """At most `count` texts as they are handed to the model, and their token ids.

    With a `window`, long texts are cut into windows of as many tokens; without, a text that does not fit is refused.
    """
    if window is not None or add_bos:
        encoded = encode(model, texts, max_tokens=window or model.context, max_texts=count, add_bos=add_bos)
        return list(encoded.ids), encoded
    kind = kind_of(model)
    readings = [_reading(model, kind, text, number) for number, text in enumerate(islice(texts, count))]
    if not readings:
        raise UserError("there is no text to read; give --text FILE with at least one text in it")
    ids = [ids_of(model, reading)[0] for reading in readings]
    check_known(model, ids)
    return readings, EncodedTexts.of(ids)


def _reading(model: LoadedModel, kind: str, text: str | Text | Tensor, number: int) -> Reading:
    """One text; for a classifier, two with a tab between them are a pair."""
    if isinstance(text, Tensor):
        return text
    content, where = (text.content, text.where) if isinstance(text, Text) else (text, f"text {number}")
    parts = tuple(part.strip() for part in content.split(PAIR))
    reading = parts if kind == LABELS and len(parts) == TOGETHER else content
    full = encode_full_text(model, reading if isinstance(reading, tuple) else (reading,), where)
    if not full.own_T.any():
        raise UserError(f"{where} holds nothing but special tokens; give a text with words in it")
    if too_long(model, full):
        raise UserError(
            f"{where} has {len(full)} tokens and {model.id} holds {model.context}; shorten it, or cut it into windows "
            f"with --max-tokens {model.context}"
        )
    masks = int((full.ids_T == model.tokenizer.mask_token_id).sum()) if kind == MASKED else 1
    if masks != 1:
        raise UserError(f"{where} has {masks} masks; write {model.tokenizer.mask_token} once, for the token to explain")
    return reading


def own_readings(
    model: LoadedModel, *, count: int, window: int | None, seed: int
) -> tuple[list[Reading], EncodedTexts]:
    """Test sequences of a net's own task or corpus: of a masked net with one token masked, else without the last token.

    An answer or a label is read from a whole sequence.
    """
    kind, encoded = kind_of(model), own_texts(model, count, seed, window)
    ids = [_open_ended(model, kind, ids_T, seed) for ids_T in encoded.ids]
    return list(ids), EncodedTexts(ids, encoded.origins, encoded.notes)


def _open_ended(model: LoadedModel, kind: str, ids_T: Tensor, seed: int) -> Tensor:
    """A sentence with something to predict in it."""
    if kind == NEXT and len(ids_T) > 1:
        return ids_T[:-1]
    if kind != MASKED:
        return ids_T
    slot = int(torch.randint(len(ids_T), (1,), generator=generator_of(ids_T, seed)))
    masked_T = ids_T.clone()
    masked_T[slot] = model.tokenizer.mask_token_id
    return masked_T
