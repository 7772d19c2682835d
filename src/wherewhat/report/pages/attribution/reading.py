"""How to read an attribution: what its numbers mean for this model and these methods, and what they do not."""

from wherewhat.report.blocks.layout import definitions
from wherewhat.report.core.html import prose
from wherewhat.report.core.page import Section
from wherewhat.report.pages.attribution.part_sections import TOTALS
from wherewhat.report.pages.attribution.relevance_data import ROTATION, RelevanceData

BIASES = ("bias", "distance terms")
MASK = (
    "Later tokens are hidden by a causal mask. The mask holds position too, as a token can tell how many others it "
    "sees, but it gets no relevance under any rule: what a model reads from its mask alone is counted as content."
)


def reading_section(data: RelevanceData) -> Section:
    """What every number means, and what it does not."""
    entries = [
        (
            "relevance",
            "What part of one logit something makes, with its sign. It describes how this output was computed "
            "from this text; it does not say what would happen to it if a token were another one.",
        ),
        *((name, method.about) for name, method in data.manifest.methods.items()),
        ("combined", f"Of a token and its position together: {data.manifest.aggregate.about}."),
    ]
    entries += [
        (
            "softmax",
            "Its rule is the plain gradient, which does not pass on all it gets: in the ledger, what "
            "softmaxes keep is a part of its own.",
        )
    ]
    entries += _positions(data)
    body = definitions([(name, prose(words)) for name, words in entries], look="asked reading")
    return Section("reading", "How to read this", "What the numbers mean, and what they do not.", body, short="Reading")


def _positions(data: RelevanceData) -> list[tuple[str, str]]:
    """Where position enters this model, and where it cannot be followed."""
    sources, entries = data.sources, []
    if ROTATION in sources:
        entries.append(("rotation", TOTALS))
    if "table" in sources:
        entries.append(("table", "A row per slot is added to the embedding of the token; both share in proportion."))
    if any(source in BIASES for source in sources):
        entries.append(("bias", "It belongs to a query and a key, and each of both slots gets half of its relevance."))
    if not sources:
        entries.append(
            (
                "positions",
                "No position enters this model as a value that could have relevance, or the method gives it none.",
            )
        )
    return [*entries, ("mask", MASK)] if data.manifest.causal else entries
