"""Run a model over sentences, and note where every head looks from every word: all that relations are found by."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from wherewhat.capture.capture import watched_by
from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.hooks.whole_batch import Block, Together
from wherewhat.capture.loading.load import LoadedModel
from wherewhat.capture.tokens.batch import ALL, Batch, batches
from wherewhat.errors import UserError
from wherewhat.probing.dependencies.book import CONFIDENCE, Book, Ints, Looked
from wherewhat.probing.dependencies.copying import Copies
from wherewhat.probing.dependencies.orders import AS_IT_IS, Shape, Text, shape_of, texts_of, words_to_repeat
from wherewhat.probing.dependencies.pooling import Pooling, correlation, looked_at, without_self
from wherewhat.probing.dependencies.sentences import Ready
from wherewhat.probing.dependencies.settings import CONTEXTUAL, FULL, POSITIONAL, SHUFFLED, Asking

Progress = Callable[[int, int], None]  # texts done, texts in all


@dataclass(frozen=True)
class Group:
    """Sentences of nearly one length that are read together, each with all its texts."""

    numbers: tuple[int, ...]  # of the sentences
    shapes: tuple[Shape, ...]
    sizes: tuple[int, ...]  # kept words of each
    texts: tuple[Text, ...]  # those of the first sentence, then those of the second, ...
    pooling: Pooling = field(repr=False)
    one_each: Pooling = field(repr=False)  # of the sentences with one token a word

    @classmethod
    def of(cls, numbers: Sequence[int], sentences: Sequence[Ready], texts: Sequence[Sequence[Text]]) -> "Group":
        """Sorted by length, as a batch is."""
        numbers = sorted(numbers, key=lambda number: (len(sentences[number].aligned.ids_T), number))
        here = tuple(text for number in numbers for text in texts[number])
        chosen = [sentences[number] for number in numbers]
        shapes = tuple(shape_of(one) for one in chosen)
        sizes = tuple(len(one.kept) for one in chosen)
        pooling = Pooling.of([text.word_of_T for text in here])
        one_each = Pooling.of([one.word_of(one.one_each) for one in chosen])
        return cls(tuple(numbers), shapes, sizes, here, pooling, one_each)

    @property
    def batch(self) -> Batch:
        """All of it, padded."""
        return next(batches([text.ids_T for text in self.texts], queries=ALL, seed=0, tokens=10**9))

    @property
    def orders(self) -> list[int]:
        """Which order each text of a sentence is in."""
        return [text.order for text in self.texts[: len(self.texts) // len(self.numbers)]]

    @property
    def place_BU(self) -> Tensor:
        """Where words stand in every text; words that are not there stand behind all others."""
        return pad_sequence([text.place_U for text in self.texts], batch_first=True, padding_value=10**6)

    def pairs(self, causal: bool) -> Tensor:
        """Which words of every sentence can be seen from which, themselves left out; pairs_SUU."""
        words, size_S = torch.arange(self.pooling.words), torch.tensor(self.sizes)
        real_SU = words < size_S[:, None]
        seen_UU = words[:, None] > words if causal else words[:, None] != words
        return real_SU[:, :, None] & real_SU[:, None] & seen_UU


class Looking:
    """Listens to rows of a group of sentences, and notes where heads look when a layer is through with them."""

    def __init__(self, book: Book, copies: Copies) -> None:
        self._book, self._copies, self._asking = book, copies, copies.asking
        self._sum_BHUU: Tensor | None = None  # of the rows so far
        self._rows = 0

    def begin(self, group: Group) -> None:
        """A group is going to be read."""
        self._group = group
        self._rows, self._sum_BHUU = 0, None

    def see(self, block: Block) -> None:
        """Some rows of all texts."""
        added_BHUU = self._group.pooling.added_by(block)
        self._sum_BHUU = added_BHUU if self._sum_BHUU is None else self._sum_BHUU + added_BHUU
        self._rows += block.rows_BQ.shape[1]
        if self._rows < block.attention_BHQK.shape[-1]:
            return
        words_BHUU, self._sum_BHUU, self._rows = self._sum_BHUU, None, 0
        if not torch.isfinite(words_BHUU.sum()):
            raise UserError(
                f"the attention of {block.site.module} is not finite; load the model with --dtype float32, or check "
                "its weights"
            )
        self._note(block.site, words_BHUU.unflatten(0, (len(self._group.numbers), -1)))

    def _note(self, site: AttentionSite, words_SRHUU: Tensor) -> None:
        """Where heads look with all they may use, with place alone and with content alone."""
        orders, parts, found = self._group.orders, self._asking.parts, dict[str, Tensor]()
        if orders[:1] == [AS_IT_IS] and FULL in parts:
            self._confident(site, words_SRHUU[:, 0])
            found[FULL] = without_self(words_SRHUU[:, 0])
        others_SRHUU = words_SRHUU[:, orders.index(0) :] if 0 in orders else words_SRHUU[:, :0]
        if SHUFFLED in parts:
            self._look(SHUFFLED, site, self._shuffled(without_self(others_SRHUU[:, 0]), orders.index(0)))
        if POSITIONAL in parts:
            found[POSITIONAL] = self._positional(site)
        if CONTEXTUAL in parts:
            found[CONTEXTUAL] = self._contextual(site, others_SRHUU)
        for part, words_SHUU in found.items():
            self._look(part, site, looked_at(words_SHUU))
            if FULL in found and part != FULL:
                pairs_SUU = self._group.pairs(_causal(site)).to(words_SHUU.device)
                self._book.numbers_of(part, site, self._group.numbers, correlation(found[FULL], words_SHUU, pairs_SUU))

    def _look(self, part: str, site: AttentionSite, look_SHU: Tensor) -> None:
        for number, size, look_HU in zip(self._group.numbers, self._group.sizes, look_SHU.cpu(), strict=True):
            self._book.look(part, site, number, look_HU[:, :size])

    def _confident(self, site: AttentionSite, words_SHUU: Tensor) -> None:
        """The mean over words of the largest weight; words that are not there have none."""
        size_S1 = torch.tensor(self._group.sizes).to(words_SHUU)[:, None]
        self._book.numbers_of(CONFIDENCE, site, self._group.numbers, words_SHUU.amax(-1).sum(-1) / size_S1)

    def _positional(self, site: AttentionSite) -> Tensor:
        """Of every sentence what position makes of its words."""
        longest = max(length for length, _ in self._group.shapes)
        means = [self._copies.mean(shape, site) for shape in self._group.shapes]
        padded = [torch.nn.functional.pad(one, (0, longest - one.shape[-1]) * 2) for one in means]
        return without_self(self._group.one_each.words_of(torch.stack(padded)))

    def _contextual(self, site: AttentionSite, others_SRHUU: Tensor) -> Tensor:
        """The mean over orders; under a causal mask over those in which a word is seen, and of words seen as it is."""
        sum_SHUU = without_self(others_SRHUU.sum(1))
        if not _causal(site):
            return sum_SHUU / others_SRHUU.shape[1]
        place_SRU = self._group.place_BU.unflatten(0, (len(self._group.numbers), -1))[:, -others_SRHUU.shape[1] :]
        times_SUU = (place_SRU[..., None, :] < place_SRU[..., :, None]).sum(1)
        mean_SHUU: Tensor = sum_SHUU / times_SUU[:, None].clamp_min(1)
        return mean_SHUU.tril(-1)

    def _shuffled(self, words_SHUU: Tensor, order: int) -> Tensor:
        """Where heads look in another order: of equals the first in that order, told as words of the sentence."""
        each = len(self._group.texts) // len(self._group.numbers)
        order_SU = self._group.place_BU[order::each].argsort().to(words_SHUU.device)  # new place to word
        index_SHUU = order_SU[:, None, None, :].expand_as(words_SHUU)
        in_order_SHUU = words_SHUU.gather(3, index_SHUU).gather(2, index_SHUU.transpose(2, 3))
        look_SHU = looked_at(in_order_SHUU)
        named_SHU = order_SU[:, None].expand_as(look_SHU).gather(2, look_SHU)
        return torch.empty_like(named_SHU).scatter_(2, order_SU[:, None].expand_as(named_SHU), named_SHU)


def _causal(site: AttentionSite) -> bool:
    return site.part == "decoder"


def look(model: LoadedModel, sentences: Sequence[Ready], asking: Asking, on_text: Progress | None = None) -> Looked:
    """Read all that the parts need, and note where every head looks."""
    texts = texts_of(sentences, asking)
    copies = Copies(words_to_repeat(model, sentences, asking) if POSITIONAL in asking.parts else [], asking)
    book = Book(np.cumsum([0, *(len(one.kept) for one in sentences)]).tolist())
    looking = Looking(book, copies)
    shapes = {shape_of(one) for one in sentences}
    done, of = 0, sum(map(len, texts)) + len(copies.words) * len(shapes)
    listening = looking.see

    def see(block: Block) -> None:
        if block.site.part != "cross":
            listening(block)

    with watched_by(Together(see, next(model.module.parameters()).dtype), model.module) as captured:
        for group in _groups(sentences, texts, copies):
            if copies.words:
                listening = copies.see
                done += copies.prepare(set(group.shapes), captured.read)
                listening = looking.see
            looking.begin(group)
            captured.read(group.batch)
            done += len(group.texts)
            if on_text is not None:
                on_text(done, of)
    return book.closed(tuple(copies.words), _places(texts))


def _groups(sentences: Sequence[Ready], texts: Sequence[Sequence[Text]], copies: Copies) -> Iterator[Group]:
    """Sentences of similar length, as many as make up so many padded tokens; one sentence may exceed it alone.

    Where words are repeated too, those with as many words come together, so that it is done once for all of them.
    """
    longest = [len(one.aligned.ids_T) for one in sentences]
    shapes = [shape_of(one) if copies.words else (0, ()) for one in sentences]
    here: list[int] = []
    for number in sorted(range(len(sentences)), key=lambda number: (shapes[number], longest[number], number)):
        padded = max(longest[one] for one in [*here, number]) * len(texts[number]) * (len(here) + 1)
        if here and padded > copies.asking.batch_tokens:
            yield Group.of(here, sentences, texts)
            here = []
        here.append(number)
    yield Group.of(here, sentences, texts)


def _places(texts: Sequence[Sequence[Text]]) -> Ints | None:
    """Where words stand in the first other order of each sentence."""
    first = [text.place_U.numpy() for of_one in texts for text in of_one if text.order == 0]
    return np.concatenate(first) if first else None
