"""The shape of a model, known as soon as it is loaded or from a manifest: unlike ones are refused before any work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wherewhat.capture.load import Subject
from wherewhat.errors import UserError


@dataclass(frozen=True)
class Shape:
    """An architecture as far as it is known."""

    name: str
    family: str
    layers: int | None
    heads: int | None  # of a layer
    parameters: int

    def __str__(self) -> str:
        return f"{self.layers} layers × {self.heads} heads ({self.family})"

    def unlike(self, other: "Shape") -> bool:
        """Where only some layers have attention to read, runs count fewer than models: parameters tell these apart."""
        heads = None not in (self.heads, other.heads) and self.heads != other.heads
        layers = self.layers != other.layers and self.parameters != other.parameters
        return self.family != other.family or heads or layers


def shape_of_model(subject: Subject) -> Shape:
    """Of a model that is loaded."""
    config: Any = getattr(subject.model, "config", None)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    stated = (getattr(config, name, None) for name in ("num_attention_heads", "heads"))
    heads = next((count for count in stated if isinstance(count, int)), None)
    parameters = sum(parameter.numel() for parameter in subject.model.parameters())
    return Shape(subject.id, subject.family, subject.layers, heads, parameters)


def shape_of_run(manifest: Mapping[str, Any]) -> Shape:
    """Of the model that a run profiled; a run that asked for some heads only does not know how many there are."""
    model, settings = manifest["model"], manifest.get("settings") or {}
    chosen = settings.get("layers") or settings.get("heads")
    heads, rest = divmod(model["heads"], model["layers"])
    known = heads if not chosen and not rest else None
    return Shape(model["id"], model["family"], model["layers"], known, model.get("parameters", 0))


def refuse_other_shape(first: Shape, other: Shape) -> None:
    """Refuse a model whose heads cannot be held against those of the first."""
    if first.unlike(other):
        raise UserError(f"{other.name} has {other} and {first.name} {first}; compare heads of one architecture")
