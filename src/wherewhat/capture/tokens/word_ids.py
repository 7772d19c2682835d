"""The token ids that are whole words, for probing a model with words."""

from collections.abc import Mapping

from wherewhat.capture.editing.survey import SPECIAL
from wherewhat.capture.loading.load import LoadedModel

CONTINUES = "##"  # marks a piece that continues a word
STARTS = ("▁", "Ġ")  # mark the first piece of a word, in some tokenizers
ENDS = "</w>"  # marks the last piece of a word, in some tokenizers
MARKED = 0.05  # share of the vocabulary above which a mark counts as one


def word_ids(model: LoadedModel, at_least: int) -> list[int]:
    """Ids of whole words, restricted to letters if there are `at_least` such words or they are the majority.

    Without a tokenizer, all ids that are not special.
    """
    if model.tokenizer is None:
        config = getattr(model.module, "config", None)
        special = {getattr(config, f"{name}_token_id", None) for name in SPECIAL}
        return [id for id in range(model.vocabulary) if id not in special] or [0]
    ids = range(min(len(model.tokenizer), model.vocabulary))
    named = zip(ids, model.tokenizer.convert_ids_to_tokens(list(ids)), strict=True)
    special = set(model.tokenizer.all_special_ids)
    ordinary = {id: str(name) for id, name in named if name is not None and id not in special}
    words = whole_words(ordinary) or ordinary
    letters = {id: name for id, name in words.items() if name.isalpha()}
    return sorted(letters if len(letters) >= min(at_least, len(words) / 2) and letters else words) or [0]


def whole_words(named: Mapping[int, str]) -> dict[int, str]:
    """The entries of a vocabulary that are whole words, without the tokenizer's marks.

    >>> whole_words({0: "▁a", 1: "▁the", 2: "ing"}), whole_words({0: "the", 1: "##ing"})
    ({0: 'a', 1: 'the'}, {0: 'the'})
    """
    names = list(named.values())
    starting = tuple(mark for mark in STARTS if _many([name.startswith(mark) for name in names]))
    ending = _many([name.endswith(ENDS) for name in names])
    words_by_id = {}
    for id, name in named.items():
        whole = (not starting or name.startswith(starting)) and (not ending or name.endswith(ENDS))
        bare = name.removesuffix(ENDS).lstrip("".join(starting))
        if whole and bare and not name.startswith(CONTINUES):
            words_by_id[id] = bare
    return words_by_id


def _many(marked: list[bool]) -> bool:
    """Whether enough entries have a mark for it to be one."""
    return sum(marked) > MARKED * len(marked)
