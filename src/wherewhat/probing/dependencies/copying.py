"""The positional part of attention: what is left of it when a text is one word, over and over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from wherewhat.capture.hooks.reader import AttentionSite
from wherewhat.capture.hooks.whole_batch import Block
from wherewhat.capture.tokens.batch import ALL, Batch, batches
from wherewhat.probing.dependencies.orders import Shape, repeated
from wherewhat.probing.dependencies.settings import Asking


@dataclass
class Copies:
    """Attention on repeated words, the sum over words; of the lengths that are needed now, and no others."""

    words: Sequence[int]
    asking: Asking
    sums: dict[Shape, dict[AttentionSite, Tensor]] = field(default_factory=dict)
    _shape: Shape = (0, ())  # of what is being read

    def see(self, block: Block) -> None:
        """Some rows of texts of one word each, all of one length."""
        sums = self.sums[self._shape]
        if block.site not in sums:
            heads, tokens = block.attention_BHQK.shape[1], block.attention_BHQK.shape[-1]
            sums[block.site] = block.attention_BHQK.new_zeros(heads, tokens, tokens)
        sums[block.site][:, block.rows_BQ[0]] += block.attention_BHQK.sum(0)

    def mean(self, shape: Shape, site: AttentionSite) -> Tensor:
        """Attention averaged over words, attention_HTT."""
        return self.sums[shape][site] / len(self.words)

    def prepare(self, shapes: set[Shape], read: Callable[[Batch], None]) -> int:
        """Read what these shapes need, and forget others; tells how many texts were read.

        Sentences come sorted by length, so what is forgotten will not be asked for again.
        """
        self.sums = {shape: sums for shape, sums in self.sums.items() if shape in shapes}
        fresh = [shape for shape in sorted(shapes) if shape not in self.sums]
        for self._shape in fresh:
            self.sums[self._shape] = {}
            texts = repeated(self._shape, self.words)
            for batch in batches(texts, queries=ALL, seed=self.asking.seed, tokens=self.asking.batch_tokens):
                read(batch)
        return len(fresh) * len(self.words)
