"""What runs, sizes, tokens and rows are called. Torch-free, so that the page knows them too."""

from wherewhat.studies.engine.results import Cell

CAUSAL, BIDIRECTIONAL = "causal", "bidirectional"
BY_HAND, HAND = "by hand, BOS", "built by hand"  # in the table, and on the page
TRAINED, SHORTER, FEWER = "as trained", "shorter", "fewer regions"  # sizes of test sequences
SIZES = (TRAINED, SHORTER, FEWER)
BINS = {"0 to 3": (0, 3), "4 to 15": (4, 15), "16 to 63": (16, 63), "64 and more": (64, 10**9)}  # of true counts
OWN = " of its region"  # suffix of the tokens inside the region that a query asks for
TOKEN_TYPES = ("0", "1", "[", "]", "BOS")
COMPARABLE = {"brackets": ("[", "]"), "zeros": ("0",), "BOS": ("BOS",)}  # what ones can be compared with
OPENING, CLOSING = "opening brackets", "closing brackets"
SWAPPED = {**COMPARABLE, OPENING: ("[",), CLOSING: ("]",)}  # whose states are exchanged
# Answers with the states that a kind has in another sequence. The last one is the running count of ones at the closing
# bracket minus that at the opening one, if one of the two is of the other sequence.
KEPT, MOVED, SUBTRACTED = "own count", "count of the other", "difference of running counts"
FROM_ONES, FROM_BRACKETS = "mass from ones", "mass from brackets"  # attention of the encoder
ENCODER_QUERIES = {FROM_ONES: ("1",), FROM_BRACKETS: ("[", "]")}
SCORES = ("entropy", "locality", "input.position_share", "input.symbol_share")  # of the encoder's head
MEAN_FREQUENCY = "mean_frequency"  # of rotary heads; a score that is no share
TOP_1, TOP_5, SLOPE = "top-1", "top-5", "slope"
SLOW = "slow rope"  # all pairs at one frequency, so low that before and after stay apart
LEARNT = 0.8  # top-1 from which a region counts as learnt
MEDIAN, MAXIMUM = Cell("median", TOP_1, TRAINED), Cell("maximum", TOP_1, TRAINED)  # over regions and seeds


def name_of(direction: str, encoding: str, bos: bool) -> str:
    """What a run is called.

    >>> name_of("causal", "rope", True), name_of("bidirectional", "none", False)
    ('causal rope, BOS', 'bidirectional none')
    """
    return f"{direction} {encoding}{', BOS' if bos else ''}"


def in_words(encoding: str) -> str:
    """An encoding as sentences have it, in which a slope would be read as one more number.

    >>> in_words("alibi 0.1"), in_words("slow rope")
    ('alibi (slope 0.1)', 'slow rope')
    """
    name, _, slope = encoding.partition(" ")
    return f"{name} (slope {slope})" if name == "alibi" and slope else encoding


def shown(net: str) -> str:
    """What a net is called in charts that show its direction by colour."""
    return HAND if net == BY_HAND else net


def accuracy(size: str, region: int, measure: str = TOP_1) -> Cell:
    """The share of the counts of a region that are right."""
    return Cell("accuracy", measure, size, float(region))
