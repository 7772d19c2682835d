"""A vocabulary of whole words, in a tokenizer that other libraries can open.

Texts are cut into words in one way: in lower case, at blanks and punctuation. The tokenizer does it, so a corpus and a
model that reads its texts through `tokenizer.json` see the same words.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer, PreTokenizer, Split, WhitespaceSplit
from tokenizers.pre_tokenizers import Sequence as Cutters

from wherewhat.errors import UserError

PAD, UNKNOWN, MASK = "[pad]", "[unk]", "[mask]"
SPECIAL = (PAD, UNKNOWN, MASK)  # in the order of their ids; no text contains them
GIVE = "give one that a training run wrote"
LOWER, CUT = Lowercase(), BertPreTokenizer()


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text.

    >>> split_words("Maria sees Peter's dog.")
    ('maria', 'sees', 'peter', "'", 's', 'dog', '.')
    """
    return tuple(word for word, _ in CUT.pre_tokenize_str(LOWER.normalize_str(text)))


@dataclass(frozen=True, eq=False)
class WordVocabulary:
    """Words and their ids: padding, the unknown word and the mask first, then the vocabulary in sorted order.

    >>> words = WordVocabulary.learn([["the", "cat", "sees", "the", "dog"]])
    >>> words.names, words.ids(["The", "cat", "barks"])
    (['[pad]', '[unk]', '[mask]', 'cat', 'dog', 'sees', 'the'], [6, 3, 1])
    """

    tokenizer: Tokenizer
    pad: ClassVar[int] = SPECIAL.index(PAD)  # the id of padding
    unknown: ClassVar[int] = SPECIAL.index(UNKNOWN)  # the id of every word that is not in the vocabulary
    mask: ClassVar[int] = SPECIAL.index(MASK)  # the id that hides a word

    @classmethod
    def learn(cls, sentences: Iterable[Sequence[str]], most: int = 8000) -> "WordVocabulary":
        """The `most` frequent words of some sentences; among equally frequent words the first in the alphabet."""
        if most < 1:
            raise UserError(f"a vocabulary cannot have {most} words; keep at least 1")
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(sentence)
        lower: Counter[str] = Counter()
        for word, times in counts.items():
            lower[LOWER.normalize_str(word)] += times
        for special in SPECIAL:
            lower.pop(special, None)
        if not lower:
            raise UserError("there are no words to learn; give sentences with at least one word")
        kept = sorted(lower, key=lambda word: (-lower[word], word))[:most]
        names = [*SPECIAL, *sorted(kept)]
        tokenizer = Tokenizer(WordLevel({name: id for id, name in enumerate(names)}, unk_token=UNKNOWN))
        tokenizer.normalizer = LOWER
        tokenizer.pre_tokenizer = _cutter(names[len(SPECIAL) :])
        tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIAL])
        return cls(tokenizer)

    @classmethod
    def from_json(cls, text: str) -> "WordVocabulary":
        """Read what `json` wrote."""
        try:
            tokenizer, kind = Tokenizer.from_str(text), json.loads(text)["model"]["type"]
        except Exception:  # the library raises no class of its own
            raise UserError(f"this is not a tokenizer.json; {GIVE}") from None
        if kind != "WordLevel" or [tokenizer.id_to_token(id) for id in range(len(SPECIAL))] != list(SPECIAL):
            raise UserError(
                f"this tokenizer.json ({kind}) does not have whole words after {', '.join(SPECIAL)}; {GIVE}"
            )
        return cls(tokenizer)

    def json(self) -> str:
        """The vocabulary as `tokenizer.json`."""
        return self.tokenizer.to_str(pretty=True)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def names(self) -> list[str]:
        """Every word by its id."""
        of = self.tokenizer.get_vocab()
        return sorted(of, key=of.__getitem__)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: id for id, name in enumerate(self.names) if id >= len(SPECIAL)}

    def ids(self, words: Sequence[str]) -> list[int]:
        """The id of every word, in any case; `unknown` for words that are not in the vocabulary."""
        known = self._ids
        return [known[word] if word in known else known.get(LOWER.normalize_str(word), self.unknown) for word in words]


def _cutter(words: Sequence[str]) -> PreTokenizer:
    """How to cut texts: at blanks and punctuation, unless some words have punctuation inside.

    A treebank has such words ("n't", "U.S."). Its sentences have a blank between words; in other texts punctuation is
    at the edge of a word ("house,"), and only there it is cut off. Punctuation by itself ("!!!") stays together; an
    unknown word that ends in punctuation ("Mrs.") cannot be told from a word and its comma.
    """
    if all(split_words(word) == (word,) for word in words):
        return CUT
    edged = [word for word in words if not (word[0] + word[-1]).isalnum()]
    whole = "|".join(map(re.escape, sorted(edged, key=len, reverse=True)))  # the longest that is there counts
    own = rf"^(?:{whole})(?=\p{{P}}*$)|" if whole else ""
    edges = Split(Regex(rf"^[\p{{P}}\p{{S}}]+$|{own}^\p{{P}}|\p{{P}}(?=\p{{P}}*$)"), "isolated")
    return Cutters([WhitespaceSplit(), edges])
