"""The sections of a manifest about a model, its layers, its texts and its scores, and notes on how to read them."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from torch import Tensor

from wherewhat.capture.loading.load import LoadedModel, fingerprint
from wherewhat.capture.tokens.encode import EncodedTexts, token_names
from wherewhat.profiling.reading import AttentionReading
from wherewhat.scores.base import Score
from wherewhat.tables.manifest.sections import ExampleText, LayerSection, ModelSection, ScoreSection, TextsSection
from wherewhat.tables.texts import Origin

EXAMPLES = 3  # texts whose tokens the report shows


def model_section(model: LoadedModel, *, layers: int, heads: int, total_heads: int | None = None) -> ModelSection:
    """Which model it was, so that the same one can be found again; `heads` may be some of all."""
    return ModelSection(
        id=model.id,
        family=model.family,
        path=model.path and str(Path(model.path).absolute()),
        revision=model.revision,
        weights_hash=fingerprint(model.module),
        layers=layers,
        heads=heads,
        total_heads=total_heads,
        parameters=sum(parameter.numel() for parameter in model.module.parameters()),
        config=model.net,
    )


def layer_sections(reading: AttentionReading) -> list[LayerSection]:
    """Every layer, its module, and how far its logits could be decomposed."""
    return [
        LayerSection(
            layer=number,
            part=site.part,
            module=site.module,
            logits=reading.logits_state(site),
            reason=reading.undecomposed.get(site),
        )
        for site, number in reading.layers.items()
    ]


def text_hash(ids: Sequence[Tensor]) -> str:
    """A hash of the token ids of texts."""
    digest = hashlib.sha256()
    for text in ids:
        digest.update(text.numpy().tobytes() + b"|")
    return digest.hexdigest()


def texts_section(model: LoadedModel, encoded: EncodedTexts, source: str | Origin) -> TextsSection:
    """Which texts were read: where from, a hash of their token ids, and the first few to look at."""
    ids = encoded.ids
    return TextsSection(
        **(asdict(source) if isinstance(source, Origin) else {"source": source}),
        hash=text_hash(ids),
        count=encoded.texts,
        windows=len(ids),
        tokens=sum(len(text) for text in ids),
        shortest=min(len(text) for text in ids),
        longest=max(len(text) for text in ids),
        example=[ExampleText(tokens=token_names(model, text)) for text in ids[:EXAMPLES]],
    )


def score_section(score: Score) -> ScoreSection:
    """How to read a score."""
    low, high = (end if math.isfinite(end) else None for end in score.range)
    return ScoreSection(
        asks=score.asks,
        low=score.low,
        high=score.high,
        range=(low, high),
        paper=score.paper,
        chance=score.chance,
        sides=score.sides,
        kind=score.kind,
        tau=score.tau,
    )


def reading_notes(reading: AttentionReading) -> list[str]:
    """Sentences about a model and its layers that keep a reader from misreading the run."""
    model, layers, scores = reading.model, reading.layers, reading.settings.row_scores
    parts = {site.part for site in layers}
    notes = list(model.notes)
    if model.layers is not None and len(layers) < model.layers:
        notes.append(
            f"{len(layers)} of the model's {model.layers} layers have attention that can be read; "
            "layers are counted over those, and the list below names their modules."
        )
    if "cross" in parts and "encoder" not in parts:
        notes.append("The attention of the encoder could not be read; all values are about the decoder.")
    if "decoder" in parts and {"next", "symmetry", "balance"} & scores.keys():
        whose = "these heads" if parts == {"decoder"} else "the decoder's heads"
        notes.append(
            "Under a causal mask no key is to the right of its query: `next` has no value, and `symmetry` and "
            f"`balance` are meaningless for {whose}. Their values are in heads.parquet; this page leaves them out."
        )
    if "cross" in parts:
        undefined = ", ".join(name for name, score in scores.items() if score.relative and not score.logits)
        notes.append(
            f"Cross-attention reads another sequence, so scores of distance are not defined for it: {undefined}."
        )
        notes.append("Encoder and decoder both read the text, the decoder shifted by one token.")
    if len(parts) > 1:
        notes.append(
            f"Layers are numbered through all parts ({reading.part_spans()}) in tables and along axes; heads are named "
            "with their part and counted inside it, such as decoder L0H1."
        )
    return notes
