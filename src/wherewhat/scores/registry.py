"""Every score there is, in the order a reader meets them: where a head looks, to which side, how widely, at what.

Then those that ask of the logits why it looks there: because of where a key stands, or because of what it says.
"""

import math

from wherewhat.scores.balance import balance
from wherewhat.scores.base import Score
from wherewhat.scores.chance import random_logits, uniform
from wherewhat.scores.duplicate import duplicate
from wherewhat.scores.entropy import entropy
from wherewhat.scores.exclusion import exclusion_positional, exclusion_ratio, exclusion_symbolic, logit_variance
from wherewhat.scores.expected import half, left_over, one_part
from wherewhat.scores.induction import induction
from wherewhat.scores.locality import locality
from wherewhat.scores.mean_frequency import mean_frequency
from wherewhat.scores.offset_peak import LEAST_ROWS, largest_share, offset_peak
from wherewhat.scores.offsets import following, itself, previous
from wherewhat.scores.published import as_peaked, block_positional, block_symbolic, positional, symbolic
from wherewhat.scores.shares import (
    attended_interaction_share,
    attended_part_by_chance,
    attended_position_share,
    attended_rest_by_chance,
    attended_symbol_share,
    interaction_share,
    position_share,
    symbol_share,
)
from wherewhat.scores.sink import sink
from wherewhat.scores.swaps import PUBLISHED, at
from wherewhat.scores.symmetry import symmetry

CHEN = "Chen, Varoquaux and Suchanek 2023, arXiv 2310.12864"
VOITA = "Voita et al. 2019, arXiv 1905.09418"
CLARK = "Clark et al. 2019, arXiv 1906.04341"
OLSSON = "Olsson et al. 2022, arXiv 2209.11895"
XIAO = "Xiao et al. 2023, arXiv 2309.17453"
URRUTIA = "Urrutia et al. 2025, arXiv 2511.11579"
SEQUEL = "arXiv 2605.31558"

# Chance is a head that looks at every allowed key alike, except for symmetry, balance and offset_peak. There, chance is
# a head whose logits are noise: even attention is perfectly symmetric, so a head that knows nothing would seem to have
# that very skill, and it has no peak whose offset could be counted.
_LOOKS = (
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
        low=f"The strongest key is now here, now there. Asked of texts of which at least {LEAST_ROWS} rows are read.",
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

# These ask what a logit would be if other keys stood in its slot. Chance is a head whose table of such logits is noise;
# for the attended shares and the published scores, which depend on how peaked a head is, one with the very logits of
# each row in random places.
_SHARES = (
    Score(
        name="position_share",
        asks="How much of the differences between logits comes from where keys stand, whatever they say?",
        low="None: exchanging keys exchanges their logits, or what counts is who stands where (interaction_share).",
        high="All: the head reads slots alone. The three shares add up to 1, and no scaling of logits changes them.",
        paper="wherewhat; two-way analysis of variance",
        rows=position_share,
        expected=one_part,
        logits=True,
        pooled=True,
    ),
    Score(
        name="symbol_share",
        asks="How much of the differences between logits comes from what keys say, wherever they stand?",
        low="None: what keys say makes no difference, or only in some slots (interaction_share).",
        high="All: the head reads contents alone. In upper layers a content may itself tell where its token stands.",
        paper="wherewhat; two-way analysis of variance",
        rows=symbol_share,
        expected=one_part,
        logits=True,
        pooled=True,
    ),
    Score(
        name="interaction_share",
        asks="How much of the differences between logits comes neither from slots nor from contents alone?",
        low="None: what a slot adds and what a content adds simply sum up, as with ALiBi and T5.",
        high="All: it counts who stands where. Noise alone gets nearly 1 if many keys can change places: see chance.",
        paper="wherewhat; two-way analysis of variance",
        rows=interaction_share,
        expected=left_over,
        logits=True,
        pooled=True,
    ),
    Score(
        name="attended.position_share",
        asks="What decides where the head looks: how much of it is where keys stand?",
        low="None: where keys stand makes no difference to which of them are attended.",
        high="All: the head looks at slots, whatever they hold. Attended keys weigh as much as all others together.",
        paper="wherewhat; two-way analysis of variance",
        rows=attended_position_share,
        matched=attended_part_by_chance,
        logits=True,
    ),
    Score(
        name="attended.symbol_share",
        asks="What decides where the head looks: how much of it is what keys say?",
        low="None: what keys say makes no difference to which of them are attended.",
        high="All: the head looks at contents, wherever they stand. Attended keys weigh as much as all the others.",
        paper="wherewhat; two-way analysis of variance",
        rows=attended_symbol_share,
        matched=attended_part_by_chance,
        logits=True,
    ),
    Score(
        name="attended.interaction_share",
        asks="What decides where the head looks: how much of it is which key stands in which slot?",
        low="None: what a slot adds and what a content adds simply sum up.",
        high="All: it counts who stands where. Attended keys weigh as much as all others together.",
        paper="wherewhat; two-way analysis of variance",
        rows=attended_interaction_share,
        matched=attended_rest_by_chance,
        logits=True,
    ),
)
_EXCLUSION = (
    Score(
        name="exclusion_ratio",
        asks="When keys change places, which moves more: the logits of contents, or those of slots?",
        low="Symbolic: logits go with their contents. Compare 0.5, where both move alike.",
        high="Positional: logits stay in their slots, so that contents see theirs change.",
        paper=f"wherewhat; from the two terms of {URRUTIA}",
        rows=exclusion_ratio,
        expected=half,
        logits=True,
        pooled=True,
    ),
    Score(
        name="exclusion_positional",
        asks="How far does the logit of a slot move when keys change places? The mean square over all permutations.",
        low="0 means positional: whatever stands in a slot gets the same logit.",
        high="Slots' logits move a lot, so the head is not positional. In squared logits, without an upper end.",
        paper=URRUTIA,
        rows=exclusion_positional,
        range=(0.0, math.inf),
        logits=True,
    ),
    Score(
        name="exclusion_symbolic",
        asks="How far does the logit of a content move when keys change places? The mean square over all permutations.",
        low="0 means symbolic: a content gets the same logit wherever it stands.",
        high="Contents' logits move a lot, so the head is not symbolic. In squared logits, without an upper end.",
        paper=URRUTIA,
        rows=exclusion_symbolic,
        range=(0.0, math.inf),
        logits=True,
    ),
    Score(
        name="logit_variance",
        asks="How much do the logits of a row differ? Never more than the two exclusion terms together.",
        low="0 means flat: all keys get the same logit, and the head can be positional and symbolic at once.",
        high="Logits differ a lot, so at least one exclusion term is large: the head cannot be both.",
        paper=URRUTIA,
        rows=logit_variance,
        range=(0.0, math.inf),
        logits=True,
    ),
)
_FREQUENCY = (
    Score(
        name="mean_frequency",
        asks="Which rotary frequency does the head rely on, counted from 0 for the fastest?",
        low="0: the fastest, which tells neighbouring slots apart.",
        high="The slowest, which hardly knows slots. The middle means no preference: that is what equal use gives.",
        paper=f"{SEQUEL}, as far as it is described there",
        rows=mean_frequency,
        range=(0.0, math.inf),
        logits=True,
        turning=True,
        pooled=True,
    ),
)


def at_temperature(tau: float) -> tuple[Score, Score]:
    """The published scores with swaps weighed at another temperature; infinity counts all swaps alike.

    >>> [score.name for score in at_temperature(0.01)]
    ['positional@0.01', 'symbolic@0.01']
    """
    return (
        Score(
            name=f"positional{at(tau)}",
            asks="When two keys are swapped, does the attention on their slots stay as it was?",
            low="Attention moves with what is swapped, and is peaked: at even weights this score cannot be low.",
            high="Attention stays in its slots: positional, or just flat, which gets 1 too. Read it beside entropy.",
            paper=f"{SEQUEL}; {URRUTIA}",
            rows=positional(tau),
            matched=as_peaked(tau),
            logits=True,
        ),
        Score(
            name=f"symbolic{at(tau)}",
            asks="When two keys are swapped, does the attention on them go with what they say?",
            low="Attention stays behind in the slots, and is peaked: at even weights this score cannot be low.",
            high="Attention goes with the keys: symbolic, or just flat, which gets 1 too. Read it beside entropy.",
            paper=f"{SEQUEL}; {URRUTIA}",
            rows=symbolic(tau),
            matched=as_peaked(tau),
            logits=True,
        ),
    )


def blocks_at(tau: float) -> tuple[Score, Score]:
    """The same for swaps of whole blocks of text.

    >>> [score.name for score in blocks_at(float("inf"))]
    ['block.positional@inf', 'block.symbolic@inf']
    """
    return (
        Score(
            name=f"block.positional{at(tau)}",
            asks="When two blocks of text are swapped, does the attention on their places stay as it was?",
            low="Attention moves with what is swapped, and is peaked.",
            high="Attention stays in place: positional, or just flat. Blocks of unlike length keep it below 1.",
            paper=URRUTIA,
            rows=block_positional(tau),
            logits=True,
        ),
        Score(
            name=f"block.symbolic{at(tau)}",
            asks="When two blocks of text are swapped, does the attention on them go with what they say?",
            low="Attention stays behind, and is peaked.",
            high="Attention goes with the blocks: symbolic, or just flat. Read it together with entropy.",
            paper=URRUTIA,
            rows=block_symbolic(tau),
            logits=True,
        ),
    )


_ALL = (*_LOOKS, *_SHARES, *_EXCLUSION, *at_temperature(PUBLISHED), *blocks_at(PUBLISHED), *_FREQUENCY)

SCORES: dict[str, Score] = {score.name: score for score in _ALL}
