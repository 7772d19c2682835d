"""Notes on differences from the publication, on what was chosen by us, and on what was left out."""

from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.word_swap.claims import HALF, SMALL, listed
from wherewhat.studies.word_swap.names import BAG, NAMES
from wherewhat.studies.word_swap.questions import name_examples
from wherewhat.studies.word_swap.results import LEARNT, learnt, ordered
from wherewhat.studies.word_swap.settings import WordSwapScale

NOTES = (
    "Four rows of one table of an earlier version are published (models, accuracies, changes in points); the parser, "
    "the role labeller, the rule for new labels, the number of pairs and which sentence was changed are unknown to us.",
    "The published models were pre-trained on natural text and fine-tuned on SNLI. Here nets are pre-trained on "
    "passages of a small grammar (a sentence, and the same again in fewer words, 15 % of the words masked) and "
    "fine-tuned on pairs from it. Predicting a word of the second sentence requires who does what to whom, so "
    "pre-training already rewards it; the questions differ in fine-tuning alone.",
    "`content`: the same two persons and the same action (entailment), another person (neutral), another action "
    "(contradiction); a bag of words decides it. `roles`: as in the premise (entailed), with roles reversed "
    "(reversed), another action (other); a bag of words gives two thirds at most. `names` is the simplest question "
    "about roles: three words without a full stop, `maria sees peter`, and is it a woman or a man who does it? A bag "
    "of words gives one half.",
    "So that nets this small learn the questions in minutes, premises are about two names, which have neither article "
    "nor adjective, and every premise has one pair per label.",
    "Premises have at most 8 words, so few have constituents of 5 or 6 words, and none has constituents of every size: "
    "each size has its own pairs, compared with the same pairs unshuffled. Both sentences of a pair are shuffled; "
    "agent and patient are swapped in the premise.",
    "The control of a shuffle applies the same permutation to spans that are not constituents; the control of a role "
    "swap swaps two other spans of the same lengths. Not every pair has one, and whole sentences never do.",
    "`names` has few sentences: the present forms of every woman, man and verb that either could do to the other, in "
    "minimal pairs. Seven tenths are for training and the rest for testing, the same for all seeds. The sentences of a "
    "minimal pair are each other's role swap, so accuracy is the same before and after it; `followed` tells the "
    "difference. They are swapped but not shuffled: three words in another order do not show who does it. Nets were "
    "not asked about an animal and a person (`agent`), as they are pre-trained on names alone. The test sentences "
    "occur, without labels, in the pre-training passages.",
    "In `roles`, no training pair with another action has swapped roles, so the right answer to such a pair after a "
    "role swap was never learnt; `followed` counts only pairs whose label changes.",
    "Curves of one locality differ in w, so that only symmetry differs: at the same w a one-sided curve would also be "
    "less local. Curves with leaning heads are ours: they have the w of the symmetric curve, and every other head "
    "weighs words before the query by e^a and words after it by e^-a, the remaining heads the reverse; a is learned "
    "from an initial value.",
    "A seed determines initial weights, the order of training passages and the test pairs (not those of `names`); the "
    "training examples are the same for all. Intervals over seeds are Student's, over the pairs of one run Wilson's "
    "and Student's; none is corrected for multiple comparisons.",
    f"Chosen by us: a loss of fewer than {100 * SMALL:g} points is small; a net that changes clearly fewer than "
    f"{100 * SMALL:g} % of right answers under a role swap misses it, and one that follows clearly more than "
    f"{100 * HALF:g} % of role swaps follows; `content` counts as learnt from {100 * LEARNT:g} % on, the others if the "
    "interval over seeds is above what a bag of words gives. Shuffles and blindness are judged over encodings that "
    "learnt `content`, each separately. For the claim about training, encodings count whether or not they learnt "
    "`names` or `roles`, but only those that did can follow.",
    "The rules for the claims were changed once after a whole run at scale tiny was known: shuffles and blindness are "
    "judged encoding by encoding, and training over all encodings that learnt content. A mean over different encodings "
    "had depended on which of them were tried.",
)


def notes_of(table: ResultTable) -> tuple[str, ...]:
    """Notes on this scale, which questions were not learnt with which encodings, and what holds at every scale."""
    scale: WordSwapScale = table.scale
    tuned = []
    for each in scale.questions:
        pairs = f"the pairs of {each.premises:,} premises"
        on = f"{len(name_examples(0, 'train', each.premises)):,} sentences" if each.question == NAMES else pairs
        tuned.append(f"{each.question} {each.steps:,} steps, on {on}")
    size = (
        f"Nets have {scale.layers} layers of width {scale.width} with {scale.heads} heads, are pre-trained on "
        f"{scale.sentences:,} passages for {scale.steps:,} steps of {scale.batch} and fine-tuned in steps of "
        f"{scale.tuning_batch} ({'; '.join(tuned)}). They are tested on the pairs of {scale.test:,} other premises, "
        "and on other minimal pairs."
    )
    missing = {name: [each for each in ordered(table) if each not in learnt(table, name)] for name in BAG}
    unclear = [f"`{question}` was not clearly learnt with {listed(out)}." for question, out in missing.items() if out]
    return (*scale.size_notes(size), *unclear, *NOTES)
