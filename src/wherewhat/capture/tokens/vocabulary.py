"""Which token ids are whole words: to probe a model with words that stand for themselves."""

from collections.abc import Mapping

from wherewhat.capture.editing.survey import SPECIAL
from wherewhat.capture.loading.load import LoadedModel

CONTINUES = "##"  # begins a piece of a word that is not its first
STARTS = ("▁", "Ġ")  # begin the first piece of a word, where a tokenizer marks it
ENDS = "</w>"  # ends the last piece of a word, where a tokenizer marks it
MARKED = 0.05  # of the vocabulary: more than this share of marks is no accident


def word_ids(model: LoadedModel, at_least: int) -> list[int]:
    """Ids of whole words, of letters alone if there are `at_least` of them or they are most; without a tokenizer, of
    whatever is not special."""
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
    """Entries of a vocabulary that are whole words, without the marks of their tokenizer.

    >>> whole_words({0: "▁a", 1: "▁the", 2: "ing"}), whole_words({0: "the", 1: "##ing"})
    ({0: 'a', 1: 'the'}, {0: 'the'})
    """
    names = list(named.values())
    starting = tuple(mark for mark in STARTS if _many([name.startswith(mark) for name in names]))
    ending = _many([name.endswith(ENDS) for name in names])
    found = {}
    for id, name in named.items():
        whole = (not starting or name.startswith(starting)) and (not ending or name.endswith(ENDS))
        bare = name.removesuffix(ENDS).lstrip("".join(starting))
        if whole and bare and not name.startswith(CONTINUES):
            found[id] = bare
    return found


def _many(marked: list[bool]) -> bool:
    """Whether so many entries carry a mark that it must be one."""
    return sum(marked) > MARKED * len(marked)
