"""What is measured of a swap: the name of every measure, and how to read it."""

ACCURACY, KEPT, FLIP, OLD, LENIENT = "accuracy", "kept", "flip", "old label", "lenient"
NATS, DISTANCE, MOVED, REACH = "nats", "distance", "moved", "reach"
CHANGED = "changed"  # answers: those that are not kept
OF_ANSWERS = (ACCURACY, KEPT, FLIP, OLD, LENIENT)  # these are also counted by label
SHARES = (ACCURACY, KEPT, CHANGED, FLIP, OLD)

QUESTIONS = {
    ACCURACY: "What share of examples gets the right answer? After a role swap, the right answer is the new one.",
    KEPT: "What share of answers is the same as before?",
    FLIP: "What share of the right answers changes?",
    OLD: "What share of examples still gets the answer that was right before?",
    LENIENT: "Accuracy where, if the right answer changes, any answer but the old one counts as right.",
    NATS: "What is the surprisal of a token in nats, averaged over tokens?",
    DISTANCE: "How far do the hidden states of the text move, where two different examples are 1 apart on average? "
    "(1 − cosine of mean hidden states)",
    MOVED: "What share of words is in another place?",
    REACH: "By how many places was a word moved, averaged over all words?",
}
SCALES = {  # the unit, and what low and high values mean
    ACCURACY: ("share", "none is right", "all are right"),
    KEPT: ("share", "every answer changes", "no answer changes"),
    FLIP: ("share", "no answer changes", "every answer changes"),
    OLD: ("share", "none does", "all do"),
    LENIENT: ("share", "none is right", "all are right"),
    NATS: ("nats", "every token is predicted", "tokens are surprising"),
    DISTANCE: ("×", "they stay where they were", "1: as far away as another text"),
    MOVED: ("share", "none", "all"),
    REACH: ("words", "none moved", "they moved far"),
}
