"""What differs from the publication, what was chosen by us, and what was left out."""

from wherewhat.studies.word_swap.evidence import BAG, LEARNT, Evidence
from wherewhat.studies.word_swap.judge_published import HALF, SMALL
from wherewhat.studies.word_swap.questions import NAMES, QUESTIONS
from wherewhat.studies.word_swap.settings import Asking, Scale

NOTES = (
    "Published are four rows of one table of an earlier version (models, right answers, changes in points); parser, "
    "role labeller, rule for new labels, number of pairs and which sentence was changed are unknown to us.",
    "Published models had read natural text and were fine-tuned on SNLI; here nets read passages of a small grammar "
    "(a sentence, and the same again in fewer words; 15 % of the words are guessed) and are fine-tuned on pairs of it. "
    "To guess a word of the second sentence who does what to whom counts, so reading already rewards it; what differs "
    "between questions is fine-tuning alone.",
    "`content`: the same two and the same deed (entailment), someone else (neutral), another deed (contradiction); "
    "the words alone decide it. `roles`: as the premise says (entailed), the other way round (reversed), another deed "
    "(other); the words alone give two thirds at the most. `names` is the simplest question about roles: three words "
    "without a full stop, `maria sees peter`, and is it a woman or a man who does it? The words alone give one half.",
    "To be learnt in minutes by nets this small, premises are about two names, which have neither article nor "
    "adjective, and there is a pair of every label to each premise.",
    "Premises have 8 words at most, so few have phrases of 5 or 6 words, and none has phrases of every size: each size "
    "has its own pairs, held against the same pairs as they are. Both sentences of a pair are shuffled; agent and "
    "patient change places in the premise.",
    "A control of a shuffle brings stretches that are no phrases into the same order; a control of an exchange lets "
    "two other stretches of the same lengths change places. Not every pair has one, whole sentences never.",
    "`names` has few sentences: present forms of every woman, man and verb that either could do to the other, each "
    "with its twin. Seven tenths are learnt from and the rest is judged by, the same for all seeds. Twins are "
    "each other's exchange, so that as many answers are right after it as before; `followed` tells. They are only "
    "exchanged, not shuffled: in another order three words do not say who does it. Asked about an animal and a person "
    "(`agent`) nets were not, as they read of names alone. The sentences it is judged by occur, without labels, inside "
    "what nets read before fine-tuning.",
    "In `roles` a pair with another deed never has exchanged roles while nets learn, so what becomes of such pairs "
    "under an exchange was never learnt; `followed` counts only pairs whose label changes.",
    "Curves of one locality differ in w, so that only symmetry differs: at the same w a one-sided curve would be less "
    "local too. Curves whose heads lean are ours: they have the w of the symmetric curve, and every other head weighs "
    "what is behind e^a times and what is ahead e^-a times as much, the others the reverse; a is learned from a start.",
    "Seeds draw first weights, the order of reading and the pairs that nets are judged by (not the twins); what they "
    "read and are fine-tuned on is the same for all. Intervals over seeds are Student's, over pairs of one run "
    "Wilson's and Student's; none is corrected for being one of several.",
    f"Chosen by us: a loss of fewer than {100 * SMALL:g} points is small; who changes clearly fewer than "
    f"{100 * SMALL:g} % of right answers under an exchange overlooks it, and who follows clearly more than "
    f"{100 * HALF:g} % of exchanges follows; `content` counts as learnt from {100 * LEARNT:g} % on, the others where "
    "the interval over seeds lies above what words alone give. Shuffles and blindness are judged with encodings that "
    "learnt `content`, each for itself. Of what training does, encodings count whether or not they learnt `names` or "
    "`roles`, but only those that did can be seen to follow.",
    "How the claims are judged was changed once after a whole run at the tiny scale had been seen: encoding by "
    "encoding for shuffles and for what goes unnoticed, and by all encodings that learnt content for what training "
    "decides. A mean over unlike encodings had depended on which of them were tried.",
)


def notes_of(scale: Scale, seen: Evidence) -> tuple[str, ...]:
    """Notes on the scale, and those that hold at every scale."""
    tuned = "; ".join(
        f"{asking.question} {asking.steps:,} steps, on {_learnt_from(asking)}" for asking in scale.askings
    )
    size = (
        f"Nets have {scale.layers} layers of width {scale.width} with {scale.heads} heads, read {scale.passages:,} "
        f"passages in {scale.steps:,} steps of {scale.batch} and are fine-tuned in steps of {scale.tuning_batch} "
        f"({tuned}). They are judged by the pairs of {scale.test:,} other premises, and by other twins."
    )
    chosen = [scale.chosen] if scale.chosen else []
    unknown = [f"What was published is unknown of {', '.join(scale.unknown)}; these are ours."] if scale.unknown else []
    return (size, *chosen, *unknown, *_not_learnt(seen), *NOTES)


def _learnt_from(asking: Asking) -> str:
    """How much there is to learn a question from."""
    if asking.question == NAMES:
        return f"{len(QUESTIONS[NAMES].cases(0, 'train', asking.premises)):,} sentences"
    return f"the pairs of {asking.premises:,} premises"


def _not_learnt(seen: Evidence) -> list[str]:
    """With which encodings nets did not learn which question."""
    told = []
    for question in BAG:
        learnt = {trial.name for trial in seen.learnt(question)}
        out = [trial.name for trial in seen.ordered if trial.name not in learnt]
        if out:
            told.append(f"Not learnt, as far as can be told, was `{question}` with {', '.join(out)}.")
    return told
