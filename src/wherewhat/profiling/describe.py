"""What a manifest says of a model, its texts and the scores asked of it."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.loading.load import LoadedModel, fingerprint
from wherewhat.capture.tokens.encode import Encoded, token_names
from wherewhat.scores.base import Score
from wherewhat.tables.origin import Origin

EXAMPLES = 3  # texts whose tokens the report shows


def about_model(model: LoadedModel, *, layers: int, heads: int, total_heads: int | None = None) -> dict[str, Any]:
    """Which model it was, so that the same one can be found again; `heads` may be some of all."""
    parameters = sum(parameter.numel() for parameter in model.module.parameters())
    net = {} if model.net is None else {"config": model.net}
    total = {} if total_heads is None else {"total_heads": total_heads}
    return {
        "id": model.id,
        "family": model.family,
        "path": model.path and str(Path(model.path).absolute()),
        "revision": model.revision,
        "weights_hash": fingerprint(model.module),
        "layers": layers,
        "heads": heads,
        **total,
        "parameters": parameters,
        **net,
    }


def hash_of(ids: Sequence[Tensor]) -> str:
    """A hash of the token ids of texts."""
    digest = hashlib.sha256()
    for text in ids:
        digest.update(text.numpy().tobytes() + b"|")
    return digest.hexdigest()


def about_texts(model: LoadedModel, encoded: Encoded, source: str | Origin) -> dict[str, Any]:
    """Which texts were read: where from, a hash of their token ids, and the first few to look at."""
    ids = encoded.ids
    return {
        **(source.told if isinstance(source, Origin) else {"source": source}),
        "hash": hash_of(ids),
        "count": encoded.texts,
        "windows": len(ids),
        "tokens": sum(len(text) for text in ids),
        "shortest": min(len(text) for text in ids),
        "longest": max(len(text) for text in ids),
        "example": [{"tokens": token_names(model, text)} for text in ids[:EXAMPLES]],
    }


def about_score(score: Score) -> dict[str, Any]:
    """How to read a score."""
    return {
        "asks": score.asks,
        "low": score.low,
        "high": score.high,
        "range": [end if math.isfinite(end) else None for end in score.range],
        "paper": score.paper,
        "chance": _chance(score),
        "sides": score.sides,
    }


def _chance(score: Score) -> str:
    """Which head that knows nothing the score is held against; empty where there is none."""
    known = score.expected or score.chance
    if score.matched is not None:
        return "as peaked"
    return "" if known is None else known.__name__.replace("_", " ")


def notes(model: LoadedModel, layers: Mapping[AttentionSite, int], scores: Mapping[str, Score]) -> list[str]:
    """Plain sentences about this run that keep a reader from misreading it."""
    parts = {site.part for site in layers}
    found = list(model.notes)
    if model.layers is not None and len(layers) < model.layers:
        found.append(
            f"{len(layers)} of the model's {model.layers} layers have attention that can be read; "
            "layers are counted over those, and the list below names their modules."
        )
    if "cross" in parts and "encoder" not in parts:
        found.append("The attention of the encoder could not be read; what follows is about the decoder alone.")
    if "decoder" in parts and {"next", "symmetry", "balance"} & scores.keys():
        whose = "these" if parts == {"decoder"} else "the decoder's"
        found.append(
            "Under a causal mask nothing lies to the right: `next` has no value, and `symmetry` and `balance` say "
            f"nothing of {whose} heads. Their values are in heads.parquet; this page leaves them out."
        )
    if "cross" in parts:
        silent = ", ".join(name for name, score in scores.items() if score.relative and not score.logits)
        found.append(
            f"Cross-attention looks into another sequence, so scores of distance are not asked of it: {silent}."
        )
        found.append("Encoder and decoder both read the text, the decoder shifted by one token.")
    if len(parts) > 1:
        spans = {part: [n for site, n in layers.items() if site.part == part] for part in (p.part for p in layers)}
        told = ", ".join(f"{part} {min(its)} to {max(its)}" for part, its in spans.items())
        found.append(
            f"Layers are numbered through all parts ({told}) in tables and along axes; heads are named with their part "
            "and counted inside it, such as decoder L0H1."
        )
    return found
