"""The colours, each once, for light and for dark; all scales keep their order for every kind of colour vision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Surface and ink, the layers from first to last, and the way from below chance to above it."""

    paper: str
    card: str
    ink: str
    muted: str
    line: str
    accent: str
    layers: Sequence[str]  # viridis, without the end that vanishes against the paper
    chance: Sequence[str]  # blue below, neutral at chance, orange above


LIGHT = Palette(
    paper="#fbfaf7",
    card="#ffffff",
    ink="#1b1d21",
    muted="#5c6169",
    line="#e2dfd8",
    accent="#1d5a91",
    layers=("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962"),
    chance=("#16477a", "#4d86bb", "#a6c6e2", "#f0eee9", "#f7c592", "#dd8433", "#96470a"),
)
DARK = Palette(
    paper="#14161a",
    card="#1b1e23",
    ink="#eceae5",
    muted="#a2a7b0",
    line="#32363d",
    accent="#8fc1f0",
    layers=("#5a74b8", "#3d7fb0", "#2b9a9a", "#35b07f", "#5ec962", "#addc30", "#fde725"),
    chance=("#a9d2fa", "#5a98d6", "#325b86", "#2a2d32", "#7d4d22", "#d38438", "#ffcb91"),
)


def properties(palette: Palette) -> Mapping[str, str]:
    """Name the colours as the style sheet and the charts use them."""
    plain = {name: getattr(palette, name) for name in ("paper", "card", "ink", "muted", "line", "accent")}
    return plain | {f"chance-{i}": colour for i, colour in enumerate(palette.chance)}


def variables(palette: Palette) -> str:
    """Write the colours as CSS custom properties."""
    return "".join(f"--{name}:{colour};" for name, colour in properties(palette).items())
