"""A decoder without positions can make its own: weights set by hand write 1 / t, then distances, to the last digit."""

import tempfile
from pathlib import Path

import torch

import wherewhat as ww
from wherewhat.studies.nope.theory import (
    BOS,
    WORD,
    causal_attention,
    distance_attention,
    place_net,
    placed_stream,
    written_places,
)

# One layer, one head, no encoding. All keys are equal, so the token at place t averages over t tokens; one is `<bos>`.
net = place_net()
print(f"{net.config.layers} layer, encoding {net.config.encoding}: what the head writes at place t")
words = torch.full((63,), WORD)
with_bos = written_places(net, torch.cat([torch.tensor([BOS]), words]))
without = written_places(net, torch.cat([torch.tensor([WORD]), words]))
print(f"{'t':>4}  {'1 / t':>20}  {'with <bos>':>20}  {'error':>8}  {'without <bos>':>13}")
for t in (1, 2, 3, 4, 8, 16, 32, 64):
    value = float(with_bos[t - 1])
    print(f"{t:>4}  {1 / t:>20.16f}  {value:>20.16f}  {abs(value - 1 / t):>8.1g}  {float(without[t - 1]):>13.1f}")

# A later layer turns places into distances: query (1, -t), key (t', 1), logit t' - t. That is ALiBi with slope 1.
logits, attention = causal_attention(distance_attention(), placed_stream(6, content=False))
print("\nlogits of a later head, and its attention:")
for row, weights in zip(logits.tolist(), attention.tolist(), strict=True):
    seen = [f"{logit:>4.0f}" if weight else "   ." for logit, weight in zip(row, weights, strict=True)]
    print(*seen, "   ", *(f"{weight:.3f}" if weight else "    ." for weight in weights))

# What a profile says of the first head: it attends to all keys alike, and still tells the place.
profile = ww.profile(net, [torch.randint(1, 8, (24,)) for _ in range(4)], scores=("entropy",), untrained=False)
print("\nentropy of the head that counts:", profile.heads["value"].item())
print("open", profile.save(Path(tempfile.mkdtemp()) / "run") / "report.html")
