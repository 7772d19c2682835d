"""Tell punctuation from words, in whatever way a corpus names it."""

from wherewhat.corpora.sentence import Sentence

TAGS = frozenset({".", ",", ":", "``", "''", "-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-", "HYPH", "NFP"})
# The other tags of the Penn Treebank: words, whatever they look like.
PENN = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB ADD AFX GW XX $ #"
)
WORDS = frozenset(PENN.split())
MISSING = ("", "_", None)


def punctuation(sentence: Sentence) -> tuple[bool, ...]:
    """Which tokens of a sentence are punctuation: by universal tags, else by those of the Penn Treebank, else by sight.

    >>> punctuation(Sentence(("n't", "!", "--")))
    (False, True, True)
    """
    untold = (None,) * len(sentence.words)
    tokens = zip(sentence.words, sentence.upos or untold, sentence.xpos or untold, strict=True)
    return tuple(_is_mark(*token) for token in tokens)


def _is_mark(word: str, upos: str | None, xpos: str | None) -> bool:
    if upos not in MISSING:
        return upos == "PUNCT"
    if xpos in TAGS or xpos in WORDS:
        return xpos in TAGS
    return not any(map(str.isalnum, word))
