"""Every score there is, in the order a reader meets them: where a head looks, to which side, how widely, at what."""

from wherewhat.scores.balance import balance
from wherewhat.scores.base import Score
from wherewhat.scores.chance import random_logits, uniform
from wherewhat.scores.duplicate import duplicate
from wherewhat.scores.entropy import entropy
from wherewhat.scores.induction import induction
from wherewhat.scores.locality import locality
from wherewhat.scores.offset_peak import largest_share, offset_peak
from wherewhat.scores.offsets import following, itself, previous
from wherewhat.scores.sink import sink
from wherewhat.scores.symmetry import symmetry

CHEN = "Chen, Varoquaux and Suchanek 2023, arXiv 2310.12864"
VOITA = "Voita et al. 2019, arXiv 1905.09418"
CLARK = "Clark et al. 2019, arXiv 1906.04341"
OLSSON = "Olsson et al. 2022, arXiv 2209.11895"
XIAO = "Xiao et al. 2023, arXiv 2309.17453"

# Chance is a head that looks at every allowed key alike, except for symmetry, balance and offset_peak. There, chance is
# a head whose logits are noise: even attention is perfectly symmetric, so a head that knows nothing would seem to have
# that very skill, and it has no peak whose offset could be counted.
_ALL = (
    Score(
        name="locality",
        asks="How near does the head look? A key counts half as much with every token it stands further away.",
        low="Looks far away, or spreads evenly: even attention over n tokens gets only about 3/n (more under a causal "
        "mask), so compare with chance and only between texts of like length.",
        high="Looks at the token itself. Looking only at a direct neighbour gives 0.5.",
        paper=CHEN,
        rows=locality,
        chance=uniform,
    ),
    Score(
        name="offset_peak",
        asks="How often is the key the head looks at hardest in the same place, counted from the query?",
        low="The strongest key is now here, now there: place alone does not decide.",
        high="Always the same number of tokens away, whatever they say. From 0.9 on such a head is called positional.",
        paper=VOITA,
        rows=offset_peak,
        chance=random_logits,
        pool=largest_share,
    ),
    Score(
        name="self",
        asks="How much of its attention does the head give to the very token it is reading?",
        low="None: it looks only at other tokens.",
        high="All: nothing comes in from other tokens. Rows that see only themselves do not count.",
        paper=CLARK,
        rows=itself,
        chance=uniform,
    ),
    Score(
        name="previous",
        asks="How much of its attention does the head give to the token just before?",
        low="None.",
        high="All: a previous-token head, the first half of many copying circuits.",
        paper=f"{CLARK}; {OLSSON}",
        rows=previous,
        chance=uniform,
    ),
    Score(
        name="next",
        asks="How much of its attention does the head give to the token just after?",
        low="None.",
        high="All: a next-token head. Under a causal mask no head can see that token, so there is no value at all.",
        paper=CLARK,
        rows=following,
        chance=uniform,
    ),
    Score(
        name="symmetry",
        asks="Does the head look left and right alike? The published measure, kept for comparison; balance is sounder.",
        low="In most rows, nearly every distance shows a left-right difference close to that row's largest.",
        high="In each row, few distances differ much. Not proof of symmetry: peaked attention scores high whatever its "
        "sides, a gap that is the same at all distances goes unseen, noise alone gets about 0.6 or more, and under a "
        "causal mask the value says nothing.",
        paper=CHEN,
        rows=symmetry,
        chance=random_logits,
        sides=True,
    ),
    Score(
        name="balance",
        asks="Does the head give equal attention to the left and to the right, distance by distance?",
        low="Looks to one side only, as every head does under a causal mask, where the score says nothing.",
        high="Left and right mirror each other. Even attention does too, so read it beside locality.",
        paper=f"wherewhat; a repaired form of the symmetry of {CHEN}",
        rows=balance,
        chance=random_logits,
        sides=True,
    ),
    Score(
        name="entropy",
        asks="How widely is the attention spread, as a share of the widest possible for the keys in sight?",
        low="Each row looks at a single key.",
        high="Each row looks at all its keys alike, which is also what chance does.",
        paper=CLARK,
        rows=entropy,
        chance=uniform,
        relative=False,
    ),
    Score(
        name="sink",
        asks="How much of its attention does the head park on the first token of the text?",
        low="None.",
        high="All: the head rests there, usually because it has nothing to add. Rows that see one key do not count.",
        paper=XIAO,
        rows=sink,
        chance=uniform,
        relative=False,
    ),
    Score(
        name="duplicate",
        asks="Where the token has occurred before, how much attention goes back to those earlier copies?",
        low="None: repeated words leave the head cold.",
        high="All: the head finds its token again, wherever that stands. Tokens seen for the first time do not count.",
        paper="Wang et al. 2022, arXiv 2211.00593",
        rows=duplicate,
        chance=uniform,
    ),
    Score(
        name="induction",
        asks="Where the token has occurred before, how much attention goes to what followed it then?",
        low="None.",
        high="All: an induction head, which sees 'a b … a', looks at b. Tokens seen for the first time do not count.",
        paper=OLSSON,
        rows=induction,
        chance=uniform,
    ),
)

SCORES: dict[str, Score] = {score.name: score for score in _ALL}
