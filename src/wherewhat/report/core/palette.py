"""The colours, each once, for light and for dark; all scales keep their order for every kind of colour vision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PLAIN = ("paper", "card", "ink", "muted", "line", "accent", "where", "what", "both")


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
    where: str  # going by position
    what: str  # going by content
    both: str  # neither alone
    spread: Sequence[str]  # from attention on one key to attention on all alike


LIGHT = Palette(
    paper="#fbfaf7",
    card="#ffffff",
    ink="#1b1d21",
    muted="#5c6169",
    line="#e2dfd8",
    accent="#1d5a91",
    layers=("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962"),
    chance=("#16477a", "#4d86bb", "#a6c6e2", "#f0eee9", "#f7c592", "#dd8433", "#96470a"),
    where="#4a48b5",
    what="#d4487c",
    both="#aaa79f",
    spread=("#2d1160", "#641a80", "#9c2e7f", "#d3436e", "#f4755d", "#fba86b"),
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
    where="#9b9af5",
    what="#f583ac",
    both="#8a8f99",
    spread=("#7a4fb5", "#a64fae", "#d0569a", "#f0747c", "#fba36d", "#fde0a0"),
)


def properties(palette: Palette) -> Mapping[str, str]:
    """Name the colours as the style sheet and the charts use them."""
    plain = {name: getattr(palette, name) for name in PLAIN}
    scales = {"chance": palette.chance, "layer": palette.layers}
    return plain | {f"{name}-{i}": colour for name, scale in scales.items() for i, colour in enumerate(scale)}


def variables(palette: Palette) -> str:
    """Write the colours as CSS custom properties."""
    return "".join(f"--{name}:{colour};" for name, colour in properties(palette).items())
