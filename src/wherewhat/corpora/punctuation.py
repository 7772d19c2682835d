"""Tell punctuation from words, in whatever way a corpus names it."""

from wherewhat.corpora.sentence import Sentence

TAGS = frozenset({".", ",", ":", "``", "''", "-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-", "HYPH", "NFP"})


def punctuation(sentence: Sentence) -> tuple[bool, ...]:
    """Which tokens of a sentence are punctuation: by universal tags, else by those of the Penn Treebank, else by sight.

    >>> punctuation(Sentence(("n't", "!", "--")))
    (False, True, True)
    """
    if sentence.upos:
        return tuple(tag == "PUNCT" for tag in sentence.upos)
    if sentence.xpos:
        return tuple(tag in TAGS for tag in sentence.xpos)
    return tuple(not any(map(str.isalnum, word)) for word in sentence.words)
