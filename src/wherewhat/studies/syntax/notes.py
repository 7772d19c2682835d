"""Notes on differences from the publications, and on what was left out or chosen by us."""

from wherewhat.stats.correlation import FEWEST, MANY
from wherewhat.studies.syntax.settings import SyntaxScale
from wherewhat.studies.syntax.verdict_rules import NEAR
from wherewhat.studies.verdicts import FEWEST_SEEDS

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


def notes_of(scale: SyntaxScale) -> tuple[str, ...]:
    """Notes on this scale, and those that hold at every scale."""
    size = (
        f"Nets have {scale.layers} layers of width {scale.width} with {scale.heads} heads and are trained on masked "
        f"words of {scale.sentences:,} sentences for {scale.steps:,} steps of {scale.batch}. They are probed on "
        f"{scale.probed:,} other sentences, with {scale.copies} repeated words and {scale.permutations} permutations; "
        f"a relation with fewer than {scale.fewest} rows is left out."
    )
    chosen = [scale.chosen] if scale.chosen else []
    unknown = [f"Not published, and chosen by us: {', '.join(scale.unknown)}."] if scale.unknown else []
    return (size, *chosen, *unknown, *NOTES)
