"""What is kept of attention: where every head looks from every word, place by place, and a few numbers a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, numbered
from wherewhat.probing.dependencies.settings import CONTEXTUAL, POSITIONAL

Looks = NDArray[np.int16]  # look_WH: of every kept word of all sentences and every head, a word of the same sentence
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CONFIDENCE = "confidence"


@dataclass(frozen=True)
class Looked:
    """Where the heads of a model look. Heads of all layers stand side by side."""

    layers: dict[AttentionSite, int]
    heads: tuple[tuple[int, int], ...]  # (layer, head), in the order of the last axis below
    looks: dict[str, Looks]  # by part
    confidence_SH: Floats | None  # by sentence: the mean largest weight on a word, itself included
    alike: dict[str, Floats]  # by part, r_SH: of attention with that part of it, over pairs of words
    copied: tuple[int, ...] = ()  # the words of the identical-word probe, as token ids
    place_W: Ints | None = None  # where words stand in the shuffled sentences

    @property
    def causal(self) -> bool:
        """Whether words see only what stands before them."""
        return all(site.part == "decoder" for site in self.layers)

    def names(self, chosen: Sequence[int]) -> list[str]:
        """Heads as they are called."""
        return ["L{}H{}".format(*self.heads[number]) for number in chosen]


@dataclass
class Book:
    """What has been noted so far, place by place."""

    firsts: Sequence[int]  # of every sentence its first word, and then the number of all words
    looks: dict[str, dict[AttentionSite, Looks]] = field(default_factory=dict)  # by part
    numbers: dict[str, dict[AttentionSite, Floats]] = field(default_factory=dict)  # by name, a row a sentence

    def look(self, part: str, site: AttentionSite, sentence: int, look_HU: Tensor) -> None:
        """Where the heads of a place look from the words of a sentence."""
        noted = self.looks.setdefault(part, {})
        if site not in noted:
            noted[site] = np.zeros((self.firsts[-1], len(look_HU)), dtype=np.int16)
        noted[site][self.firsts[sentence] : self.firsts[sentence + 1]] = look_HU.T.to(torch.int16).cpu().numpy()

    def numbers_of(self, name: str, site: AttentionSite, sentences: Sequence[int], value_SH: Tensor) -> None:
        """A number of every head on some sentences."""
        noted = self.numbers.setdefault(name, {})
        if site not in noted:
            noted[site] = np.full((len(self.firsts) - 1, value_SH.shape[1]), np.nan)
        noted[site][list(sentences)] = value_SH.double().cpu().numpy()

    def closed(self, copied: tuple[int, ...] = (), place_W: Ints | None = None) -> Looked:
        """Put the places side by side, layer after layer; of an encoder and a decoder the encoder alone."""
        noted = next(iter(self.looks.values()))
        encoder = [site for site in noted if site.part == "encoder"]
        layers = numbered(encoder or list(noted))

        def joined(by_place: dict[AttentionSite, Looks] | dict[AttentionSite, Floats]) -> NDArray[np.generic]:
            return np.concatenate([by_place[site] for site in layers], 1)

        numbers = {name: np.asarray(joined(found), dtype=np.float64) for name, found in self.numbers.items()}
        return Looked(
            layers=layers,
            heads=tuple((layer, head) for site, layer in layers.items() for head in range(noted[site].shape[1])),
            looks={part: np.asarray(joined(found), dtype=np.int16) for part, found in self.looks.items()},
            confidence_SH=numbers.get(CONFIDENCE),
            alike={part: numbers[part] for part in (POSITIONAL, CONTEXTUAL) if part in numbers},
            copied=copied,
            place_W=place_W,
        )
