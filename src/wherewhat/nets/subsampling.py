"""From frames of a recording to tokens: four frames become one, by two convolutions over time and frequency."""

from math import ceil

from torch import Tensor, nn
from torch.nn.functional import relu

from wherewhat.nets.config import FRAMES, NetConfig

CHANNELS = 32


class Subsampling(nn.Module):
    """Two convolutions of 3 × 3 with stride 2, each with a ReLU, then a linear layer to the width of the net.

    A token is given as its four frames in a row, so that tokens and what a net makes of them are equally many. What
    is padding counts as 0 before either convolution.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.bands = config.features // FRAMES
        self.first = nn.Conv2d(1, CHANNELS, 3, stride=2, padding=1)
        self.second = nn.Conv2d(CHANNELS, CHANNELS, 3, stride=2, padding=1)
        self.out = nn.Linear(CHANNELS * ceil(ceil(self.bands / 2) / 2), config.width)

    def forward(self, frames_BTG: Tensor, real_BT: Tensor | None = None) -> Tensor:
        if real_BT is not None:
            frames_BTG = frames_BTG.masked_fill(~real_BT[..., None], 0)
        texts, tokens, _ = frames_BTG.shape
        x_BCTF = relu(self.first(frames_BTG.reshape(texts, 1, tokens * FRAMES, self.bands)))
        if real_BT is not None:
            halves_BT = real_BT.repeat_interleave(FRAMES // 2, dim=1)
            x_BCTF = x_BCTF.masked_fill(~halves_BT[:, None, :, None], 0)
        x_BCTF = relu(self.second(x_BCTF))
        out_BTD: Tensor = self.out(x_BCTF.transpose(1, 2).flatten(2))
        return out_BTD
