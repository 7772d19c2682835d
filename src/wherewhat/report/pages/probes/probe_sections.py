"""The sections that the pages of all probes share: the claims, the data, and what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wherewhat.formatting import count, short
from wherewhat.report.blocks.claims import claims_section
from wherewhat.report.blocks.layout import definitions, folded, present
from wherewhat.report.blocks.provenance import fields_in_words, provenance_section
from wherewhat.report.blocks.swaps import size_words
from wherewhat.report.core.html import Html, join, prose, tag
from wherewhat.report.core.page import Page, Section
from wherewhat.tables.manifest.decode import encode
from wherewhat.tables.manifest.probe import ItemCounts, ProbeData, ProbeManifest

APART = frozenset({"name", "source", "skipped", "dropped", "items"})  # of the data, shown in their own way


def claims_of(manifest: ProbeManifest) -> Section | None:
    """Every claim with its verdict; beside what was published, where something was."""
    claims = [
        replace(claim, claim=f"{claim.data}: {claim.claim}") if len(manifest.data) > 1 and claim.data else claim
        for claim in manifest.claims
    ]
    published = any(not claim.published.startswith("unknown") for claim in claims)
    return claims_section(claims, manifest.judged_by or "", published=published) if claims else None


def the_data(manifest: ProbeManifest) -> Section | None:
    """Which sentences were read, and what was left out, by reason."""
    sources = manifest.data
    if not sources:
        return None
    body = tag("div", *(_source(source) for source in sources), class_="made")
    left_out = sum(sum(source.skipped.values()) for source in sources)
    lede = f"Left out: {count(left_out, 'sentence')}, for the reasons below." if left_out else "Nothing was left out."
    return Section("read", "What was read, and what was left out", lede, body, "Data")


def _source(source: ProbeData) -> Html:
    """One dataset: its numbers, why sentences were left out, what every swap applies to, and relations dropped."""
    plain = {"from": source.source} | {name: value for name, value in encode(source).items() if name not in APART}
    known = {name: value for name, value in plain.items() if not isinstance(value, Mapping) or any(value.values())}
    numbers = fields_in_words(known, _written)
    skipped = [(f"{number:,}", prose(reason)) for reason, number in source.skipped.items() if number]
    relations: dict[str, list[str]] = {}
    for relation in source.dropped:
        relations.setdefault(relation.item, []).append(f"{relation.rows:,} {relation.side}")
    few = definitions([(tag("bdi", item), ", ".join(rows)) for item, rows in relations.items()])
    return tag(
        "section",
        tag("h3", tag("bdi", source.name)),
        definitions(numbers),
        join(tag("h4", "Left out"), definitions(skipped, look="skipped")) if skipped else None,
        join(tag("h4", "Swaps"), definitions(map(_swap, source.items.items()))) if source.items else None,
        folded(f"{count(len(relations), 'relation')} with too few rows", few, look="") if relations else None,
    )


def _swap(counts: tuple[str, ItemCounts]) -> tuple[str, Html]:
    """How many sentences a swap applies to, and why not to others."""
    item, its = counts
    controls = f"{its.controls:,}" if its.controls else "none"
    parts = [f"{count(its.sentences, 'sentence')}, {controls} with a control"]
    parts += [f"{number:,} left out: {why}" for why, number in its.left_out.items()]
    return size_words(item), prose("; ".join(parts))


def _written(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else short(value) if isinstance(value, float) else str(value)


def facts_of(manifest: ProbeManifest) -> list[tuple[str, str]]:
    """The numbers of the header that every probe has: the model's size and the sentences."""
    read = sum(source.sentences or 0 for source in manifest.data)
    sizes = {"layers": manifest.model.layers, "heads": manifest.model.heads, "sentences": read or None}
    sizes |= {"treebanks": len(manifest.data)} if len(manifest.data) > 1 else {}
    return [(f"{size:,}", name) for name, size in sizes.items() if size is not None]


def probe_page(manifest: ProbeManifest, kind: str, question: str, sections: Sequence[Section | None]) -> Page:
    """The page of a probe: what changed, the claims, the other sections, the data, and how it was made."""
    ends = (the_data(manifest), provenance_section(manifest, model=manifest.model))
    return Page(
        title=manifest.model.id,
        kind=f"Probe: {kind}",
        lede=" ".join(filter(None, (question, manifest.question))),
        facts=facts_of(manifest),
        sections=present([sections[0], claims_of(manifest), *sections[1:], *ends]),
    )
