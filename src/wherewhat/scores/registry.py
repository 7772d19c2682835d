"""The one registry of all scores, in the order a reader meets them.

Here are the records of scores computed from rows of the texts: where a head looks, to which side, how widely and at
what; then why, by its logits: because of the slot of a key or because of its content. The records of scores on other
inputs are in the files of their formulas.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

from wherewhat.scores.base import ATTENTION, PUBLISHED_SCORES, WHERE_OR_WHAT, RowScore, Score
from wherewhat.scores.chance import half, left_over, one_part, random_logits, uniform
from wherewhat.scores.entropy import entropy
from wherewhat.scores.frequencies import mean_frequency
from wherewhat.scores.input_level import INPUT_SHARES, input_scores
from wherewhat.scores.locality import locality
from wherewhat.scores.mean_parts import MEAN_SCORES
from wherewhat.scores.offsets import LEAST_ROWS, largest_share, offset_peak
from wherewhat.scores.patterns import (
    OLSSON,
    REPEATED_SCORES,
    WANG,
    duplicate,
    following,
    induction,
    itself,
    previous,
    sink,
)
from wherewhat.scores.positional_part import CHEN, POSITIONAL_SCORES
from wherewhat.scores.swaps import PUBLISHED, at
from wherewhat.scores.symmetry import balance, symmetry
from wherewhat.scores.where_or_what import (
    attended_part_by_chance,
    attended_rest_by_chance,
    attended_share,
    exclusion,
    exclusion_ratio,
    mean_cosine,
    variance_share,
)

VOITA = "Voita et al. 2019, arXiv 1905.09418"
CLARK = "Clark et al. 2019, arXiv 1906.04341"
XIAO = "Xiao et al. 2023, arXiv 2309.17453"
URRUTIA = "Urrutia et al. 2025, arXiv 2511.11579"
SEQUEL = "arXiv 2605.31558"
ANOVA = "wherewhat; two-way analysis of variance"

# Chance is uniform attention over the allowed keys, except for symmetry, balance and offset_peak. There, chance is a
# head whose logits are noise: uniform attention is perfectly symmetric, so an uninformed head would seem to have that
# very skill, and it has no peak whose offset could be counted.
_looks = partial(RowScore, kind=ATTENTION, baseline=uniform)
_LOOKS = (
    _looks(
        name="locality",
        asks="How near does the head look? The weight of a key halves with every token of distance.",
        low="Looks far away, or spreads evenly: uniform attention over n tokens gets only about 3/n (more under a "
        "causal mask), so compare with chance and only between texts of similar length.",
        high="Looks at the token itself. Looking only at a direct neighbour gives 0.5.",
        paper=CHEN,
        rows=locality,
    ),
    _looks(
        name="offset_peak",
        asks="How often is the key with the most attention at the same offset from the query?",
        low=f"The strongest key is at changing offsets. Defined for texts with at least {LEAST_ROWS} rows read.",
        high="Always the same number of tokens away, whatever they are. From 0.9 on, a head is called positional.",
        paper=VOITA,
        rows=offset_peak,
        baseline=random_logits,
        pool=largest_share,
    ),
    _looks(
        name="self",
        asks="How much of its attention does the head give to the query's own token?",
        low="None: it looks only at other tokens.",
        high="All: nothing comes in from other tokens. Rows that see only themselves do not count.",
        paper=CLARK,
        rows=itself,
    ),
    _looks(
        name="previous",
        asks="How much of its attention does the head give to the token just before?",
        low="None.",
        high="All: a previous-token head, the first half of many copying circuits.",
        paper=f"{CLARK}; {OLSSON}",
        rows=previous,
    ),
    _looks(
        name="next",
        asks="How much of its attention does the head give to the token just after?",
        low="None.",
        high="All: a next-token head. Under a causal mask no head can see that token, so there is no value at all.",
        paper=CLARK,
        rows=following,
    ),
    _looks(
        name="symmetry",
        asks="Is attention to left and right equal? The published measure, kept for comparison; balance is sounder.",
        low="In most rows, nearly every distance has a left-right difference close to that row's largest.",
        high="In each row, few distances differ much. Not proof of symmetry: peaked attention scores high whatever its "
        "sides, a gap that is the same at all distances goes unnoticed, noise alone gets about 0.6 or more, and "
        "under a causal mask the value is meaningless.",
        paper=CHEN,
        rows=symmetry,
        baseline=random_logits,
        sides=True,
    ),
    _looks(
        name="balance",
        asks="Does the head give equal attention to the left and to the right, distance by distance?",
        low="Looks to one side only, as every head does under a causal mask, where the score is meaningless.",
        high="Left and right mirror each other. They do in uniform attention too, so read it beside locality.",
        paper=f"wherewhat; a repaired form of the symmetry of {CHEN}",
        rows=balance,
        baseline=random_logits,
        sides=True,
    ),
    _looks(
        name="entropy",
        asks="How widely is the attention spread, as a share of the maximum for the visible keys?",
        low="Each row attends to a single key.",
        high="Each row attends to all its keys equally, which is also what chance does.",
        paper=CLARK,
        rows=entropy,
        relative=False,
    ),
    _looks(
        name="sink",
        asks="How much of its attention does the head put on the first token of the text?",
        low="None.",
        high="All: the head rests there, usually because it has nothing to add. Rows that see one key do not count.",
        paper=XIAO,
        rows=sink,
        relative=False,
    ),
    _looks(
        name="duplicate",
        asks="Where the token has occurred before, how much attention goes back to those earlier copies?",
        low="None: repeated words make no difference to the head.",
        high="All: the head finds its token again, wherever that is. First occurrences do not count.",
        paper=WANG,
        rows=duplicate,
    ),
    _looks(
        name="induction",
        asks="Where the token has occurred before, how much attention goes to what followed it then?",
        low="None.",
        high="All: an induction head, which on 'a b … a' looks at b. First occurrences do not count.",
        paper=OLSSON,
        rows=induction,
    ),
)

# These ask what a logit would be if other keys were in its slot. Chance is a head whose table of such logits is noise;
# for the attended shares and the published scores, which depend on how peaked a head is, one with the very logits of
# each row in random places. Scores without an upper end, and those of blocks, have no chance level.
_logits = partial(RowScore, kind=WHERE_OR_WHAT, logits=True)
_share = partial(_logits, paper=ANOVA)
_WHERE_OR_WHAT = (
    _share(
        name="position_share",
        asks="How much of the differences between logits comes from the slots of keys, whatever their content?",
        low="None: exchanging keys exchanges their logits, or only particular contents in particular slots count "
        "(interaction_share).",
        high="All: the head reads slots alone. The three shares sum to 1, and no scaling of logits changes them.",
        rows=variance_share("position"),
        expected=one_part,
        pooled=True,
    ),
    _share(
        name="symbol_share",
        asks="How much of the differences between logits comes from the contents of keys, in whatever slot?",
        low="None: contents make no difference, or only in some slots (interaction_share).",
        high="All: the head reads contents alone. In upper layers a content may itself hold the position of its token.",
        rows=variance_share("symbol"),
        expected=one_part,
        pooled=True,
    ),
    _share(
        name="interaction_share",
        asks="How much of the differences between logits comes neither from slots nor from contents alone?",
        low="None: the contributions of slot and content simply add up, as with ALiBi and T5.",
        high="All: only a particular content in a particular slot counts. Noise alone gets nearly 1 if many keys can "
        "be swapped: see chance.",
        rows=variance_share("interaction"),
        expected=left_over,
        pooled=True,
    ),
    _share(
        name="attended.position_share",
        asks="What decides where the head looks: how much of it is the slots of keys?",
        low="None: slots make no difference to which keys are attended.",
        high="All: the head looks at slots, whatever they hold. Attended keys weigh as much as all others together.",
        rows=attended_share("position"),
        matched=attended_part_by_chance,
    ),
    _share(
        name="attended.symbol_share",
        asks="What decides where the head looks: how much of it is the contents of keys?",
        low="None: contents make no difference to which keys are attended.",
        high="All: the head looks at contents, in whatever slot. Attended keys weigh as much as all others together.",
        rows=attended_share("symbol"),
        matched=attended_part_by_chance,
    ),
    _share(
        name="attended.interaction_share",
        asks="What decides where the head looks: how much of it is which content is in which slot?",
        low="None: the contributions of slot and content simply add up.",
        high="All: only a particular content in a particular slot counts. Attended keys weigh as much as all others "
        "together.",
        rows=attended_share("interaction"),
        matched=attended_rest_by_chance,
    ),
    _logits(
        name="exclusion_ratio",
        asks="When keys are permuted, which moves more: the logits of contents, or those of slots?",
        low="Symbolic: logits move with their contents. At 0.5 both move equally.",
        high="Positional: logits stay in their slots, so those of contents change.",
        paper=f"wherewhat; from the two terms of {URRUTIA}",
        rows=exclusion_ratio,
        expected=half,
        pooled=True,
    ),
    _logits(
        name="exclusion_positional",
        asks="How far does the logit of a slot move when keys are permuted? The mean square over all permutations.",
        low="0 means positional: whatever is in a slot gets the same logit.",
        high="Slots' logits move a lot, so the head is not positional. In squared logits, without an upper end.",
        paper=URRUTIA,
        rows=exclusion("positional"),
        range=(0.0, math.inf),
    ),
    _logits(
        name="exclusion_symbolic",
        asks="How far does the logit of a content move when keys are permuted? The mean square over all permutations.",
        low="0 means symbolic: a content gets the same logit in every slot.",
        high="Contents' logits move a lot, so the head is not symbolic. In squared logits, without an upper end.",
        paper=URRUTIA,
        rows=exclusion("symbolic"),
        range=(0.0, math.inf),
    ),
    _logits(
        name="logit_variance",
        asks="How much do the logits of a row differ? Never more than the two exclusion terms together.",
        low="0 means flat: all keys get the same logit, and the head can be positional and symbolic at once.",
        high="Logits differ a lot, so at least one exclusion term is large: the head cannot be both.",
        paper=URRUTIA,
        rows=exclusion("variance"),
        range=(0.0, math.inf),
    ),
    _logits(
        name="mean_frequency",
        asks="Which rotary frequency does the head rely on, counted from 0 for the fastest?",
        low="0: the fastest, which tells neighbouring slots apart.",
        high="The slowest, which hardly depends on slots. The middle means no preference: equal use gives that too.",
        paper=f"{SEQUEL}, as far as it is described there",
        rows=mean_frequency,
        range=(0.0, math.inf),
        rotary=True,
        pooled=True,
    ),
)


def published_scores(tau: float) -> tuple[RowScore, RowScore]:
    """The published scores with swaps weighted at a temperature; at infinity all swaps count alike.

    >>> [score.name for score in published_scores(0.01)]
    ['positional@0.01', 'symbolic@0.01']
    """
    published = partial(
        RowScore, kind=PUBLISHED_SCORES, paper=f"{SEQUEL}; {URRUTIA}", matched=mean_cosine("chance", tau), logits=True
    )
    return (
        published(
            name=f"positional{at(tau)}",
            asks="When two keys are swapped, does the attention on their slots stay as it was?",
            low="Attention moves with what is swapped, and is peaked: at equal weights this score cannot be low.",
            high="Attention stays in its slots: positional, or just flat, which gets 1 too. Read it beside entropy.",
            rows=mean_cosine("positional", tau),
        ),
        published(
            name=f"symbolic{at(tau)}",
            asks="When two keys are swapped, does the attention on them move with their contents?",
            low="Attention stays behind in the slots, and is peaked: at equal weights this score cannot be low.",
            high="Attention moves with the keys: symbolic, or just flat, which gets 1 too. Read it beside entropy.",
            rows=mean_cosine("symbolic", tau),
        ),
    )


def block_scores(tau: float) -> tuple[RowScore, RowScore]:
    """The same for swaps of whole blocks of text.

    >>> [score.name for score in block_scores(float("inf"))]
    ['block.positional@inf', 'block.symbolic@inf']
    """
    of_blocks = partial(RowScore, kind=PUBLISHED_SCORES, paper=URRUTIA, logits=True, blocks=True)
    return (
        of_blocks(
            name=f"block.positional{at(tau)}",
            asks="When two blocks of text are swapped, does the attention on their slots stay as it was?",
            low="Attention moves with what is swapped, and is peaked.",
            high="Attention stays in place: positional, or just flat. Blocks of different length keep it below 1.",
            rows=mean_cosine("positional", tau, lambda rows: rows.block_swaps),
        ),
        of_blocks(
            name=f"block.symbolic{at(tau)}",
            asks="When two blocks of text are swapped, does the attention on them move with their contents?",
            low="Attention stays behind, and is peaked.",
            high="Attention moves with the blocks: symbolic, or just flat. Read it beside entropy.",
            rows=mean_cosine("symbolic", tau, lambda rows: rows.block_swaps),
        ),
    )


def scores_at(taus: Sequence[float]) -> dict[str, Score]:
    """Every score there is, by name; those that weigh swaps once per temperature."""

    def at_each(family: Callable[[float], Sequence[Score]]) -> list[Score]:
        return [score for tau in taus for score in family(tau)]

    scores: tuple[Score, ...] = (
        *(*_LOOKS, *_WHERE_OR_WHAT, *at_each(published_scores), *at_each(block_scores)),
        *(*INPUT_SHARES, *at_each(input_scores), *MEAN_SCORES),
        *POSITIONAL_SCORES,
        *REPEATED_SCORES,
    )
    return {score.name: score for score in scores}


SCORES = scores_at((PUBLISHED,))
ROW_SCORES = {name: score for name, score in SCORES.items() if isinstance(score, RowScore)}
