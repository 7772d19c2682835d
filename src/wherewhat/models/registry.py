"""The trained nets that come with the package."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class BuiltIn:
    """Trained weights inside the package, and the recipe that made them."""

    name: str
    about: str  # one line
    folder: Path  # for `load_model`
    recipe: str


MODELS: dict[str, BuiltIn] = {
    entry.name: entry
    for entry in [
        BuiltIn(
            name="tiny",
            about="4 layers of 4 rotary heads that step back by numbers and go from letter to letter.",
            folder=Path(__file__).parent / "tiny",
            recipe="tiny",
        ),
    ]
}
