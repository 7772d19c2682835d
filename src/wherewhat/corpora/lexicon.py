"""The words of the grammar: 199 forms, and those of the past tense."""

from wherewhat.corpora.constituents import Leaf

IRREGULAR_PLURALS = {"child": "children", "fox": "foxes", "box": "boxes"}
SG, PL = "sg", "pl"
Noun = dict[str, Leaf]  # its forms by number


def _nouns(lemmas: str, *, plural: bool = True) -> tuple[Noun, ...]:
    nouns = [{SG: Leaf(lemma, lemma, "NOUN", "NN", SG)} for lemma in lemmas.split()]
    for noun in nouns if plural else ():
        lemma = noun[SG].lemma
        noun[PL] = Leaf(IRREGULAR_PLURALS.get(lemma, lemma + "s"), lemma, "NOUN", "NNS", PL)
    return tuple(nouns)


def _words(forms: str, upos: str, xpos: str, number: str | None = None) -> tuple[Leaf, ...]:
    return tuple(Leaf(form, form, upos, xpos, number) for form in forms.split())


class Verb:
    """One verb: its forms with a singular or a plural subject, in the present and in the past, and its participle."""

    def __init__(self, forms: str) -> None:
        base, singular, past, *participle = forms.split("/")
        self.lemma = base
        self.now = {SG: Leaf(singular, base, "VERB", "VBZ", SG), PL: Leaf(base, base, "VERB", "VBP", PL)}
        # The past tense of a full verb is the same with every subject: it has no number to agree in.
        self.past = dict.fromkeys((SG, PL), Leaf(past, base, "VERB", "VBD"))
        self.participle = Leaf(participle[0], base, "VERB", "VBN") if participle else None


def _verbs(forms: str) -> tuple[Verb, ...]:
    return tuple(Verb(each) for each in forms.split())


PERSONS = _nouns("teacher doctor farmer pilot nurse king queen child student lawyer baker sailor soldier judge")
ANIMALS = _nouns("dog cat horse fox bird goat")
THINGS = _nouns("book letter box cup ball lamp ring key map coin gift stone basket hammer")
PLACES = _nouns("garden house school market river forest bridge tower", plural=False)
NAMES = _words("maria peter tom lucy paul nina sam rosa", "PROPN", "NNP", SG)

# Agent and patient can be swapped; base/-s/past/participle.
REVERSIBLE = _verbs(
    "see/sees/saw/seen chase/chases/chased/chased help/helps/helped/helped follow/follows/followed/followed "
    "push/pushes/pushed/pushed praise/praises/praised/praised visit/visits/visited/visited call/calls/called/called"
)
WITH_THING = _verbs(
    "break/breaks/broke/broken carry/carries/carried/carried clean/cleans/cleaned/cleaned "
    "paint/paints/painted/painted hide/hides/hid/hidden move/moves/moved/moved"
)
GIVING = _verbs(
    "give/gives/gave/given send/sends/sent/sent show/shows/showed/shown lend/lends/lent/lent sell/sells/sold/sold"
)
ALONE = _verbs(
    "sleep/sleeps/slept run/runs/ran laugh/laughs/laughed wait/waits/waited "
    "sing/sings/sang fall/falls/fell jump/jumps/jumped smile/smiles/smiled"
)
SAYING = _verbs("think/thinks/thought say/says/said know/knows/knew believe/believes/believed")
BE_NOW = {SG: Leaf("is", "be", "AUX", "VBZ", SG), PL: Leaf("are", "be", "AUX", "VBP", PL)}
BE_PAST = {SG: Leaf("was", "be", "AUX", "VBD", SG), PL: Leaf("were", "be", "AUX", "VBD", PL)}

ADJECTIVES = {
    "animate": _words("big small young tall happy sad brave quiet", "ADJ", "JJ"),
    "thing": _words("big small red green heavy new", "ADJ", "JJ"),
    "place": _words("big small quiet green new", "ADJ", "JJ"),
}
ADVERBS = _words("quickly slowly quietly gladly badly kindly", "ADV", "RB")
LOCATIVES = _words("near behind beside under", "ADP", "IN")
THE, A, EVERY, SOME, MANY = _words("the a every some many", "DET", "DT")
TO, BY = _words("to by", "ADP", "IN")
WHO, WHICH = Leaf("who", "who", "PRON", "WP"), Leaf("that", "that", "PRON", "WDT")
THAT, STOP = Leaf("that", "that", "SCONJ", "IN"), Leaf(".", ".", "PUNCT", ".")


def leaves_of(*, past: bool) -> set[Leaf]:
    """Every word of the grammar."""
    nouns = [leaf for noun in (*PERSONS, *ANIMALS, *THINGS, *PLACES) for leaf in noun.values()]
    verbs = [*REVERSIBLE, *WITH_THING, *GIVING, *ALONE, *SAYING]
    tenses = [BE_NOW, *(verb.now for verb in verbs)] + ([BE_PAST, *(verb.past for verb in verbs)] if past else [])
    finite = [leaf for tense in tenses for leaf in tense.values()]
    participles = [verb.participle for verb in verbs if verb.participle]
    others = [*ADVERBS, *LOCATIVES, THE, A, EVERY, SOME, MANY, TO, BY, WHO, WHICH, THAT, STOP]
    adjectives = [leaf for kind in ADJECTIVES.values() for leaf in kind]
    return {*nouns, *NAMES, *finite, *participles, *adjectives, *others}
