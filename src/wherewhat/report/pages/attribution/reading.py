"""How to read an attribution: what its numbers mean for this model and these methods, and what they do not."""

from wherewhat.report.blocks.layout import definitions
from wherewhat.report.blocks.numbers import capital
from wherewhat.report.core.html import prose
from wherewhat.report.core.page import Section
from wherewhat.report.pages.attribution.part_sections import TOTALS
from wherewhat.report.pages.attribution.relevance_data import ROTATION, RelevanceData

PAIRS = "It belongs to a query and a key, and each of both slots gets half of its relevance."
SOURCES = {  # of position, and how to read each
    ROTATION: TOTALS,
    "table": "A row per slot is added to the embedding of the token; both share in proportion.",
    "bias": f"It is added to the logits of attention, and shares in proportion. {PAIRS}",
    "path": f"What the tokens between query and key add to their logit: made of contents, shown as position. {PAIRS}",
    "factors": f"They are multiplied with attention, and get half of what flows through it. {PAIRS}",
}
PRODUCTS = f"Products of content with what belongs to a distance: position gets half of them. {PAIRS}"
MASK = (
    "Later tokens are hidden by a causal mask. The mask holds position too, as a token can tell how many others it "
    "sees, but it gets no relevance under any rule: what a model reads from its mask alone is counted as content."
)
RELEVANCE = (
    "What part of one logit something makes, with its sign. It describes how this output was computed from this text; "
    "it does not say what would happen to it if a token were another one."
)
SOFTMAX = (
    "Its rule is the plain gradient, which does not pass on all it gets: in the ledger, what softmaxes keep is a part "
    "of its own."
)

SPLIT = (
    "A logit of attention without position (queries and keys before their rotation, no bias) is content; the rest is "
    "position. A rotation by nothing adds nothing here, so these shares can be compared between encodings. They only "
    "report on the logits: what tokens get is the same."
)


def reading_section(data: RelevanceData) -> Section:
    """What every number means, and what it does not."""
    manifest = data.manifest
    entries = [
        ("relevance", RELEVANCE),
        *((name, f"{capital(method.about)}.") for name, method in manifest.methods.items()),
        ("combined", f"A token and its position as one number: {manifest.aggregate.about}."),
        *([("softmax", SOFTMAX)] if any(each.softmax for each in manifest.ledgers) else []),
        *((source, SOURCES.get(source, PRODUCTS)) for source in data.sources),
    ]
    if not data.sources:
        words = "Position enters this model nowhere as a value of its own, or these methods give it no relevance."
        entries.append(("positions", words))
    entries += [("content and position", SPLIT)] if any(each.position_by_distance for each in data.explanations) else []
    entries += [("causal mask", MASK)] if manifest.causal else []
    body = definitions([(name, prose(words)) for name, words in entries], look="asked reading")
    return Section("reading", "How to read this", "What the numbers mean, and what they do not.", body, short="Reading")
