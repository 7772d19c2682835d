"""What differs from the publications, and what was left out or chosen by us."""

from wherewhat.studies.locality.claims import FEWEST_SEEDS
from wherewhat.studies.locality.correlations import FEWEST, MANY
from wherewhat.studies.syntax.judging import NEAR
from wherewhat.studies.syntax.settings import Scale

NOTES = (
    "Of the publication on locality and symmetry only the abstract, the measures, one table of an earlier version and "
    "some code are known to us. That short relations live in positional heads and long ones in contextual ones is its "
    "direction; its figures, its treebank and its rule for calling a head positional are unknown, and nothing is "
    "compared with a number that we do not have.",
    "Figures of Clark et al. (arXiv 1906.04341) are of BERT-base on the Penn Treebank with Stanford labels, a head "
    "chosen on the very data it is scored on, offsets from −3 to 2. Here nets are small, sentences come from a "
    "grammar, labels are Universal Dependencies, and offsets go from −5 to 5.",
    "Black-box parts, the same for every encoding. Full: attention on the sentence. Positional: attention on one word "
    "repeated to the sentence's length, the mean over words. Contextual: attention on other orders of the words, "
    "carried back and averaged. A word's largest weight on another word is what a head finds; punctuation is left out.",
    "A head is chosen for a relation, whatever its distance, on one half of the sentences and scored on the other. "
    "Were it chosen at each distance too, a head that always looks two words on would be right at distance 2.",
    "Where relations are counted together, each is found by its own head; rows of frequent relations count for more.",
    "To an encoding that treats both sides alike, the word before and the word after weigh the same in the positional "
    "part: of two equal weights the one before counts, which says nothing. No mean has such encodings in it "
    "but their own.",
    "Heads chosen by position or by content are chosen by that part and scored with full attention, on sentences in "
    "order and on shuffled ones.",
    "Seeds draw first weights, the order of reading, and the sentences to be probed on; encodings share them, so that "
    "differences are taken seed by seed. Intervals over seeds are Student's, those of correlations Fisher's, or of "
    "resampled encodings where there are many; none is corrected for being one of several.",
    "That distances count with the head chosen for the relation, that symmetric encodings stay apart, and that full "
    "attention is asked where locality is judged were chosen after single nets of seed 0 had been seen; so were the "
    "claims and how near is the same. That locality is judged by a slope at the same side weight was decided on "
    "made-up numbers, where a correlation could not tell.",
    f"Chosen by us: shares that surely lie within {100 * NEAR:g} points are the same; correlations need {FEWEST} "
    f"encodings and are resampled from {MANY} on; verdicts need {FEWEST_SEEDS} seeds. Claims are judged from the word "
    "to its governor, as that has one answer; the other side stands beside.",
)


def notes_of(scale: Scale) -> tuple[str, ...]:
    """Notes on the scale, and those that hold at every scale."""
    size = (
        f"Nets have {scale.layers} layers of width {scale.width} with {scale.heads} heads and learn to guess hidden "
        f"words of {scale.sentences:,} sentences in {scale.steps:,} steps of {scale.batch}. They are probed on "
        f"{scale.probed:,} other sentences, with {scale.copies} repeated words and {scale.permutations} orders; a "
        f"relation with fewer than {scale.fewest} rows is left out."
    )
    chosen = [scale.chosen] if scale.chosen else []
    unknown = [f"What was published is unknown of {', '.join(scale.unknown)}; these are ours."] if scale.unknown else []
    return (size, *chosen, *unknown, *NOTES)
