"""What follows from the runs: means over seeds, verdicts on what was published and what was left open, and notes."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from statistics import fmean

from wherewhat.formatting import count
from wherewhat.probing.dependencies.settings import ALL, CONTEXTUAL, FULL, POSITIONAL, SIDES, TO_DEPENDENT, TO_HEAD
from wherewhat.probing.dependencies.split_half_scores import KINDS
from wherewhat.published.relation_heads import ANCHORS
from wherewhat.stats.correlation import FEWEST, MANY, pearson
from wherewhat.stats.estimate import Estimate
from wherewhat.stats.verdict import UNPUBLISHED, lenient_verdict, open_verdict, published_verdict
from wherewhat.studies.engine.claims import FEWEST_SEEDS, Claim, Verdict, claim, describe_sides, list_gaps
from wherewhat.studies.engine.encodings import SYMMETRIC, EncodingCondition
from wherewhat.studies.engine.results import Cell, ResultTable, Row
from wherewhat.studies.syntax import results
from wherewhat.studies.syntax.results import DISTANCES, EACH, FREE, UNTRAINED, gap, members, relations, share
from wherewhat.studies.syntax.settings import SyntaxScale

PARTS = (FULL, POSITIONAL, CONTEXTUAL)
BY = {POSITIONAL: "position", CONTEXTUAL: "content"}
NEIGHBOURS, FAR = 1, 6  # distances, by the smallest of each group
NEAR = 0.05  # shares whose difference is clearly smaller than this are called equal
EQUALLY_LOCAL = 0.01  # curves whose localities differ by less are called equally local
NOT_BEST = "obl"  # where a first run had content alone above full attention
GAPS = (("positional", "contextual"), ("positional", "offset"), ("contextual", "offset"), ("full", "offset"))
FACTS = ("rows", "distance")  # properties of the sentences, not of a net
DIRECTION = "reported as a direction; the figures, the data and the rule are unknown to us"
FIRST_RUN = f"{UNPUBLISHED}; a first run of one learned table and one rope had "
BERT_BASE = "; ".join(f"{relation} {head:.1f} / {offset:.1f}" for relation, head, offset in ANCHORS.values())


def summarise(table: ResultTable) -> Iterator[Row]:
    """Means over seeds, differences and correlations: of every condition and group, relation and distance."""
    subjects = {**{condition.name: [condition.name] for condition in table.conditions}, **table.notes}
    items = [*((item, None) for item in (*relations(table), ALL, EACH)), *((EACH, at) for at in DISTANCES)]
    places = list(product(subjects.items(), items, SIDES))
    for (name, its), (item, at), side in places:
        cells = [share(kind, item, at=at, side=side) for kind in (*KINDS, *FACTS)]
        if item == EACH:  # untrained nets: only all relations together
            cells += [share(kind, item, at=at, side=side, part=UNTRAINED) for kind in KINDS]
        for cell in cells:
            if (mean := table.mean(its, cell)).known:
                yield f"{cell.part} mean", name, item, at, None, cell.measure, *mean.numbers
    for (name, its), (item, at), side in places:
        of_kind = {kind: share(kind, item, at=at, side=side) for kind in KINDS}
        pairs = {f"{above} over {below}": (of_kind[above], of_kind[below]) for above, below in GAPS}
        if item == EACH:
            pairs |= {f"{part} learnt": (of_kind[part], of_kind[part]._replace(part=UNTRAINED)) for part in PARTS}
        for words, (first, second) in pairs.items():
            if (gap := table.difference(its, its, first, second)).known:
                yield "gap", name, item, at, None, f"{side}: {words}", *gap.numbers
    for by, far, part, side in product(results.LOCALITIES, (None, *DISTANCES), PARTS, SIDES):
        if (correlation := link(table, share(part, at=far, side=side), by)).known:
            yield "link", by, EACH, far, None, f"{side}: {part}", *correlation.numbers


def free_encodings(table: ResultTable) -> str:
    """The names of the encodings with free heads, over which most means are taken."""
    return ", ".join(members(table)) or "no encodings"


def nearly_equal(gap: Estimate) -> int:
    """1 if a difference is clearly small, -1 if it is clearly not, 0 if neither is clear.

    >>> [nearly_equal(Estimate(0, *ends)) for ends in ((-0.02, 0.02), (-0.4, -0.2), (-0.1, 0.1))]
    [1, -1, 0]
    """
    return 1 if gap.low > -NEAR and gap.high < NEAR else -1 if gap.low > NEAR or gap.high < -NEAR else 0


def over_relations(gaps: Mapping[str, Estimate]) -> str:
    """Which single relations are clearly for or against a claim, and how many were tried."""
    sides = describe_sides({name: gap.side for name, gap in gaps.items()})
    return f"Of {count(len(gaps), 'relation')}, taken singly and not corrected for their number, {sides}."


def case_by_case(gaps: Mapping[str, Estimate], sentences: Mapping[int, str]) -> str:
    """What is clear and what is not, case by case; nothing if all cases have the same sign."""
    words = ", ".join(sentences[gap.side].format(case) for case, gap in gaps.items())
    return f"{words[:1].upper()}{words[1:]}" if len({gap.side for gap in gaps.values()}) > 1 else ""


def by_distance(table: ResultTable, distances: tuple[int, ...], part: str, other: str) -> Verdict:
    """Does one part of attention exceed another at these distances?"""

    def gaps(group: str, side: str) -> dict[str, Estimate]:
        cells = {at: (share(part, at=at, side=side), share(other, at=at, side=side)) for at in distances}
        return {DISTANCES[at].replace("-", "–"): gap(table, *pair, group) for at, pair in cells.items()}

    own, encodings = gaps(FREE, TO_HEAD), free_encodings(table)
    gains = ", ".join(f"{gap.points()} at distance {far}" for far, gap in own.items())
    to_dependent, sided = (
        ", ".join(f"{gap.points()} at {far}" for far, gap in others.items())
        for others in (gaps(FREE, TO_DEPENDENT), gaps(results.SIDED, TO_HEAD))
    )
    cases = {side: f"at distance {{}} words are found by {BY[kind]}" for side, kind in ((1, part), (-1, other))}
    return Verdict(
        f"Means over {encodings}: from a word to its head, the {part} part exceeds the {other} one by {gains}. "
        f"From the head to the word: {to_dependent}. Over all encodings that tell the two sides apart: {sided}.",
        lenient_verdict([gap.side for gap in own.values()]),
        "An attention head is chosen per relation, whatever the distance, on the half of the sentences that it is not "
        f"scored on. The verdict rests on {encodings}, whose heads may look to either side; a curve has the same "
        "positional part in all heads, by construction. Symmetric encodings and no encoding are in no mean: both "
        "neighbours have equal weight there, and ties go to the word before.",
        short=f"Over {encodings}, from a word to its head the {part} part exceeds the {other} one by {gains}.",
        answer=case_by_case(own, {**cases, 0: "at distance {} it is unclear which finds them"}),
    )


SHORT = Claim(
    "Positional heads win on short relations.",
    DIRECTION,
    lambda table: by_distance(table, (1, 2), POSITIONAL, CONTEXTUAL),
    {
        "agrees": "Near words are found by position",
        "disagrees": "Near words are found by content rather than by position",
        "unknown": "It is unclear whether near words are found by position or by content",
    },
)
LONG = Claim(
    "Contextual heads win on long relations.",
    DIRECTION,
    lambda table: by_distance(table, (3, 6), CONTEXTUAL, POSITIONAL),
    {
        "agrees": "Far words are found by content",
        "disagrees": "Far words are found by position rather than by content",
        "unknown": "It is unclear whether far words are found by content",
    },
)


def over_offset(table: ResultTable, part: str, names: Iterable[str]) -> dict[str, Estimate]:
    """By relation, by how much a part of attention exceeds the best fixed offset."""
    return {name: gap(table, share(part, name), share("offset", name)) for name in names}


@claim(
    "Subjects and objects need content: no fixed offset finds as many.",
    "BERT-base, best head / best offset in %: nsubj 58.5 / 45.5, dobj 86.8 / 40.0 (Clark et al. 2019)",
    {
        "agrees": "Subjects and objects need content",
        "disagrees": "Subjects and objects are found as well or better by a fixed offset",
        "unknown": "It is unclear whether subjects and objects need content",
    },
)
def content(table: ResultTable) -> Verdict:
    """Does full attention exceed the best fixed offset where content is reported to be needed?"""
    full, contextual = (over_offset(table, part, ("nsubj", "obj")) for part in (FULL, CONTEXTUAL))
    cases = {1: "{} need content", -1: "{} are found as well or better by a fixed offset"}
    cases[0] = "it is unclear whether {} need content"
    return Verdict(
        f"Means over {free_encodings(table)}: the best head's full attention compared with the best fixed offset, "
        f"{list_gaps(full)}. The contextual part alone: {list_gaps(contextual)}.",
        lenient_verdict([gap.side for gap in full.values()]),
        "The publication's own figures are unknown; those given are for BERT-base, on other text with other labels. In "
        "the grammar a subject is often right before its verb, so that a fixed offset finds most of them.",
        answer=case_by_case({"subjects": full["nsubj"], "objects": full["obj"]}, cases),
    )


@claim(
    "The best head finds more than the best fixed offset, relation by relation.",
    f"BERT-base in %: {BERT_BASE} (Clark et al. 2019)",
)
def anchors(table: ResultTable) -> Verdict:
    """Does the best head exceed the best fixed offset on the relations published for BERT-base?"""
    gaps = {name: gap for name, gap in over_offset(table, FULL, ANCHORS).items() if gap.known}
    means = {name: [table.mean(members(table), share(kind, name)).value for kind in (FULL, "offset")] for name in gaps}
    pairs = "; ".join(f"{name} {100 * head:.1f} / {100 * offset:.1f}" for name, (head, offset) in means.items())
    return Verdict(
        f"Best head / best offset in %, means over {free_encodings(table)}: {pairs}. {over_relations(gaps)}",
        published_verdict([gap.side for gap in gaps.values()]),
        "BERT-base had other labels and other data, is many times larger, and its head was chosen on the data that it "
        "was scored on. So the pattern can be compared, that heads find more than any fixed offset, but not the "
        "figures.",
    )


@claim(
    "Where the partner is always at the same offset, position alone finds as many as the best fixed offset.",
    f"{FIRST_RUN}the same share in det, amod and aux:pass",
)
def stereotyped(table: ResultTable) -> Verdict:
    """Does the positional part find as much as the best fixed offset, where that finds nearly all?"""
    gaps = over_offset(table, POSITIONAL, ("det", "amod", "aux:pass"))
    return Verdict(
        f"Means over {free_encodings(table)}: the positional part compared with the best fixed offset, "
        f"{list_gaps(gaps)}.",
        open_verdict([nearly_equal(gap) for gap in gaps.values()]),
        f"Called equal if the interval is within {100 * NEAR:g} points of 0.",
    )


@claim(
    "Content alone finds more under rotary positions than under an added table of positions.",
    f"{FIRST_RUN}it far stronger under rope",
)
def rotation(table: ResultTable) -> Verdict:
    """Does the contextual part find more under rotary positions than under an added table?"""
    if not {"rope", "learned"} <= {condition.name for condition in table.conditions}:
        return Verdict("One of the two was not tried.", "unknown")
    by_relation = {name: table.difference(["rope"], ["learned"], share(CONTEXTUAL, name)) for name in relations(table)}
    gap, to_dependent = (table.difference(["rope"], ["learned"], share(CONTEXTUAL, side=side)) for side in SIDES)
    return Verdict(
        f"Over all relations the contextual part finds {gap.points()} more under rope than under the learned table; "
        f"from the head to the word {to_dependent.points()}. {over_relations(by_relation)}",
        open_verdict([gap.side]),
        "An added table is part of the representation of a word, so averaging over word orders also removes part of "
        "the content.",
    )


@claim("Full attention is not always the best of the three.", f"{FIRST_RUN}content alone above it in {NOT_BEST}")
def not_best(table: ResultTable) -> Verdict:
    """Does one part alone exceed full attention in the relation where a first run had shown that?"""
    contextual, positional = (
        {name: gap(table, share(part, name), share(FULL, name)) for name in relations(table)}
        for part in (CONTEXTUAL, POSITIONAL)
    )
    first = contextual.get(NOT_BEST, Estimate())
    return Verdict(
        f"Means over {free_encodings(table)}: in {NOT_BEST} the contextual part exceeds full attention by "
        f"{first.points()}. The contextual part compared with full attention: {over_relations(contextual)} "
        f"The positional part compared with full attention: {over_relations(positional)}",
        open_verdict([first.side]),
        f"The verdict rests on {NOT_BEST}, which was named before these runs; the others are listed only, as some of "
        "many differ by chance.",
    )


def curves(table: ResultTable) -> list[tuple[EncodingCondition, float]]:
    """Curves set by hand, with their locality."""
    local = table.means(part="encoding", measure=results.BIAS)
    return [(each, local[each.name]) for each in table.conditions if each.family == "log" and each.name in local]


def gained(table: ResultTable, cell: Cell) -> Estimate:
    """How much more the most local curve finds than the least local one, along the regression line at the same s."""
    tried, x = curves(table), [x for _, x in curves(table)]
    middle = {s: fmean(x for each, x in tried if each.s == s) for s in {each.s for each, _ in tried}}
    rise = table.trend({each.name: x - middle[each.s] for each, x in tried}, cell)
    return Estimate(*((max(x) - min(x)) * number for number in (rise.value, rise.low, rise.high)))


def link(table: ResultTable, cell: Cell, by: str = results.ATTENTION) -> Estimate:
    """The correlation over encodings of locality with a share; seeds are averaged first."""
    local = table.means(part="encoding", measure=by)
    names = [condition.name for condition in table.conditions if condition.name in local]
    return pearson([local[name] for name in names], [table.mean([name], cell).value for name in names], seed=0)


@claim(
    "The more local a curve is, the more neighbours heads find under it, and the fewer far words.",
    answers={
        "seen": "Under more local curves heads find more neighbours and fewer far words",
        "in part": "Under more local curves heads find more neighbours and fewer far words, but only in part",
        "not seen": "Under more local curves heads do not find more neighbours and fewer far words",
        "unknown": "It is unclear whether heads find more neighbours under more local curves",
    },
)
def locality(table: ResultTable) -> Verdict:
    """Do more local curves find more neighbours, and fewer far words, at the same s?"""
    cells, x = [share(FULL, at=at) for at in (NEIGHBOURS, FAR)], [x for _, x in curves(table)]
    near, far = (gained(table, cell) for cell in cells)
    over_curves, over_all = (" and ".join(link(table, cell, by).plain() for cell in cells) for by in results.LOCALITIES)
    gains = (
        f"From the least local curve ({min(x):.2f}) to the most local ({max(x):.2f}), at the same s, the regression "
        f"line over {count(len(x), 'curve')} gains full attention {near.points()} at distance 1 and {far.points()} "
        "from 6 on."
    )
    return Verdict(
        f"{gains} The correlation over curves is {over_curves}; over all encodings, with the locality of attention "
        f"over identical words, {over_all}. At all distances, that locality correlates with the positional part by "
        f"{link(table, share(POSITIONAL)).plain()} and with the contextual one by "
        f"{link(table, share(CONTEXTUAL)).plain()}.",
        open_verdict([near.side, -far.side]),
        "The positional part of a curve set by hand is the curve itself, whose largest weight is on the neighbour "
        "however local it is. Among curves the positional part therefore cannot depend on locality, so the verdict "
        "rests on full attention.",
        short=gains,
    )


def equally_local(table: ResultTable) -> list[tuple[str, str]]:
    """Each one-sided curve with the symmetric one that is equally local."""
    symmetric = [(each.name, x) for each, x in curves(table) if each.s == SYMMETRIC]
    one_sided = [(each.name, x) for each, x in curves(table) if each.s != SYMMETRIC]
    return [(name, other) for name, x in one_sided for other, y in symmetric if abs(x - y) < EQUALLY_LOCAL]


@claim("A symmetric encoding finds fewer neighbours than one that tells the two sides apart.")
def sides(table: ResultTable) -> Verdict:
    """Do one-sided curves find more neighbours than equally local symmetric ones, in both directions?"""
    one_sided, symmetric = ([pair[i] for pair in equally_local(table)] for i in (0, 1))
    full, positional = (
        {side: table.difference(one_sided, symmetric, share(part, at=NEIGHBOURS, side=side)) for side in SIDES}
        for part in (FULL, POSITIONAL)
    )
    return Verdict(
        "At distance 1, full attention under one-sided curves compared with equally local symmetric ones: "
        f"{list_gaps(full)}. The positional part: {list_gaps(positional)}.",
        open_verdict([gap.side for gap in full.values()]),
        "A symmetric curve gives the word before and the word after equal weight, so its positional part cannot decide "
        "between them, and ties go to the word before. The verdict rests on full attention, in both directions.",
    )


@claim("Among shuffled words, heads chosen by position fall to chance, and those chosen by content stay above it.")
def shuffled(table: ResultTable) -> Verdict:
    """Among shuffled words, do heads chosen by position fall to chance, and do those chosen by content stay above?"""
    cells = {part: share(f"by {part}, shuffled") for part in BY.values()}
    position, content = (gap(table, cell, share("uniform")) for cell in cells.values())
    losses = {part: gap(table, cell, share(f"by {part}")) for part, cell in cells.items()}
    return Verdict(
        f"Means over {free_encodings(table)}: on shuffled sentences, full attention of heads chosen by their "
        f"positional part is {position.points()} from chance, of those chosen by their contextual part "
        f"{content.points()}. The change through shuffling: {list_gaps(losses)}.",
        open_verdict([nearly_equal(position), content.side]),
        "Relations move with their words. Heads are chosen on unshuffled sentences. "
        f"At chance means within {100 * NEAR:g} points of it.",
    )


@claim(
    "What free heads find is learnt: untrained nets find less.",
    answers={
        "seen": "In encodings with free heads all three parts are learnt: untrained nets find less",
        "in part": "In encodings with free heads only some parts are learnt: untrained nets find less of those",
        "not seen": "Trained nets with free heads do not find more than untrained ones",
        "unknown": "It is unclear whether trained nets with free heads find more than untrained ones",
    },
)
def learnt(table: ResultTable) -> Verdict:
    """Do trained nets find more than untrained ones, in each part of attention?"""
    untrained, free = {part: share(part, part=UNTRAINED) for part in PARTS}, members(table)
    gaps = {part: gap(table, share(part), cell) for part, cell in untrained.items()}
    before = ", ".join(f"{part} {100 * table.mean(free, cell).value:.1f} %" for part, cell in untrained.items())
    return Verdict(
        f"Trained compared with untrained nets, means over {free_encodings(table)}: {list_gaps(gaps)}. Untrained "
        f"nets find {before}; chance is {100 * table.mean(free, share('uniform')).value:.1f} %.",
        open_verdict([gap.side for gap in gaps.values()]),
        "An arg-max ignores size: an untrained head that prefers one position by the smallest margin counts as "
        "attending to it.",
    )


CLAIMS: dict[str, Claim] = {
    "short": SHORT,
    "long": LONG,
    "content": content,
    "anchors": anchors,
    "stereotyped": stereotyped,
    "rotation": rotation,
    "not_best": not_best,
    "locality": locality,
    "sides": sides,
    "shuffled": shuffled,
    "learnt": learnt,
}
NOTES = (
    "We know only the abstract, the measures, one table of an earlier version and some code of the publication on "
    "locality and symmetry. It reports as a direction that short relations are found by positional heads and long ones "
    "by contextual heads; its figures, its treebank and its rule for calling a head positional are unknown. Nothing is "
    "compared with a number that we do not have.",
    "The figures of Clark et al. (arXiv 1906.04341) are for BERT-base on the Penn Treebank with Stanford labels, a "
    "head chosen on the data it is scored on, and offsets from −3 to 2. Here nets are small, sentences come from a "
    "grammar, labels are Universal Dependencies, and offsets go from −5 to 5.",
    "The three parts are measured as for a black box, in the same way for every encoding. Full: attention on the "
    "sentence. Positional: attention on one word repeated to the length of the sentence, the mean over words. "
    "Contextual: attention on permutations of the words, mapped back and averaged. A head finds the word to which it "
    "attends most, other than the word itself; punctuation is left out.",
    "A head is chosen per relation, whatever the distance, on one half of the sentences and scored on the other. If it "
    "were chosen per distance, a head that always attends two words ahead would be right at distance 2.",
    "Where relations are counted together, each is found by its own head; frequent relations have more rows and so "
    "more weight.",
    "In an encoding that treats both sides alike, the word before and the word after have equal weight in the "
    "positional part. Ties go to the word before, which says nothing, so such encodings are in no mean except their "
    "own.",
    "Heads chosen by position or by content are chosen by that part alone and scored with full attention, on "
    "unshuffled and on shuffled sentences.",
    "A seed determines initial weights, the order of training sentences, and the sentences to probe on. Encodings "
    "share the seeds, so differences are taken seed by seed. Intervals over seeds are Student's, those of correlations "
    "Fisher's, or a bootstrap over encodings if there are many; none is corrected for multiple comparisons.",
    "The following was chosen after single nets of seed 0 were known: that distances use the head chosen for the "
    "relation, that symmetric encodings stay separate, that locality is judged by full attention, the claims, and how "
    "near counts as equal. The decision to judge locality by a slope at the same s was taken on simulated numbers, "
    "where a correlation could not decide.",
    f"Chosen by us: shares that clearly differ by less than {100 * NEAR:g} points are equal; correlations need "
    f"{FEWEST} encodings and are bootstrapped from {MANY} on; verdicts need {FEWEST_SEEDS} seeds. Claims are judged "
    "from the word to its head, where there is one answer; the other direction is reported with it.",
)


def notes(table: ResultTable) -> tuple[str, ...]:
    """Notes on a scale, and those that hold at every scale."""
    scale: SyntaxScale = table.scale
    size = (
        f"Nets have {scale.layers} layers of width {scale.width} with {scale.heads} heads and are trained on masked "
        f"words of {scale.sentences:,} sentences for {scale.steps:,} steps of {scale.batch}. They are probed on "
        f"{scale.probed:,} other sentences, with {scale.copies} repeated words and {scale.permutations} permutations; "
        f"a relation with fewer than {scale.fewest} rows is left out."
    )
    return (*scale.size_notes(size), *NOTES)
