"""What is kept of attention: the word that each head attends to most from every word, and numbers per sentence."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite, numbered
from wherewhat.probing.dependencies.settings import CONTEXTUAL, POSITIONAL

Targets = NDArray[np.int16]  # target_WH: for every kept word of all sentences and every head, a word of the sentence
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CONFIDENCE = "confidence"


@dataclass(frozen=True)
class AttentionTargets:
    """The words that the heads of a model attend to most. Heads of all layers are side by side."""

    layers: dict[AttentionSite, int]
    heads: tuple[tuple[int, int], ...]  # (layer, head), in the order of the last axis below
    targets: dict[str, Targets]  # by part of attention
    confidence_SH: Floats | None  # by sentence: the mean largest weight on a word, itself included
    correlations: dict[str, Floats]  # by part, r_SH: of full attention with that part, over pairs of words
    repeated: tuple[int, ...] = ()  # the words that were repeated, as token ids
    place_W: Ints | None = None  # where words are in the shuffled sentences

    @property
    def causal(self) -> bool:
        """Whether words see only the words before them."""
        return all(site.part == "decoder" for site in self.layers)

    def names(self, chosen: Sequence[int]) -> list[str]:
        """The names of some heads."""
        return ["L{}H{}".format(*self.heads[number]) for number in chosen]


@dataclass
class TargetRecorder:
    """What was recorded so far, site by site."""

    sentences: int
    words: int  # of all sentences
    targets: dict[str, dict[AttentionSite, Targets]] = field(default_factory=dict)  # by part
    numbers: dict[str, dict[AttentionSite, Floats]] = field(default_factory=dict)  # by name, one row per sentence

    def record_targets(self, part: str, site: AttentionSite, words_N: Ints, target_NH: Tensor) -> None:
        """The target of every head of a site from some words, counted over all sentences."""
        by_site = self.targets.setdefault(part, {})
        if site not in by_site:
            by_site[site] = np.zeros((self.words, target_NH.shape[1]), dtype=np.int16)
        by_site[site][words_N] = target_NH.to(torch.int16).cpu().numpy()

    def record_numbers(self, name: str, site: AttentionSite, sentences: Sequence[int], value_SH: Tensor) -> None:
        """A number of every head on some sentences."""
        by_site = self.numbers.setdefault(name, {})
        if site not in by_site:
            by_site[site] = np.full((self.sentences, value_SH.shape[1]), np.nan)
        by_site[site][list(sentences)] = value_SH.double().cpu().numpy()

    def finish(self, repeated: tuple[int, ...] = (), place_W: Ints | None = None) -> AttentionTargets:
        """Put the sites side by side, layer by layer; of an encoder and a decoder the encoder alone."""
        by_site = next(iter(self.targets.values()))
        encoder = [site for site in by_site if site.part == "encoder"]
        layers = numbered(encoder or list(by_site))

        def joined(parts: dict[AttentionSite, Targets] | dict[AttentionSite, Floats]) -> NDArray[np.generic]:
            return np.concatenate([parts[site] for site in layers], 1)

        numbers = {name: np.asarray(joined(parts), dtype=np.float64) for name, parts in self.numbers.items()}
        return AttentionTargets(
            layers=layers,
            heads=tuple((layer, head) for site, layer in layers.items() for head in range(by_site[site].shape[1])),
            targets={part: np.asarray(joined(parts), dtype=np.int16) for part, parts in self.targets.items()},
            confidence_SH=numbers.get(CONFIDENCE),
            correlations={part: numbers[part] for part in (POSITIONAL, CONTEXTUAL) if part in numbers},
            repeated=repeated,
            place_W=place_W,
        )
