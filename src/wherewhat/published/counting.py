"""Published accuracies of contextual counting, read from the vector marks of figures (arXiv 2406.02585).

Top-1 in per cent, median and maximum of 12 points: 3 seeds and 4 regions. The three sizes are 512 tokens with 4
regions, as in training, 300 tokens with 4 regions, and 512 tokens with 3 regions.
"""

Pair = tuple[float, float]  # median and maximum
TOP_1: dict[str, tuple[Pair, ...]] = {
    "causal rope, BOS": ((30.9, 95.4), (22.8, 99.2), (25.7, 88.1)),
    "causal rope": ((91.8, 94.5), (10.9, 98.3), (78.5, 85.5)),
    "causal none, BOS": ((9.6, 95.3), (10.4, 99.6), (5.9, 89.3)),
    "causal none": ((10.1, 92.8), (13.8, 99.1), (4.7, 7.1)),
    "causal learned, BOS": ((13.9, 33.3), (10.3, 49.0), (12.3, 25.1)),
    "causal learned": ((14.4, 44.3), (11.6, 32.6), (10.7, 33.4)),
    "causal alibi 0.01, BOS": ((22.0, 75.4), (12.5, 81.1), (21.2, 64.8)),
    "causal alibi 0.01": ((4.0, 87.7), (5.2, 98.3), (3.0, 60.7)),
    "causal alibi 1, BOS": ((8.1, 10.6),),
    "causal alibi 0.1, BOS": ((5.9, 11.6),),
    "bidirectional rope, BOS": ((16.8, 23.5), (0.0, 1.8), (2.1, 2.3)),
    "bidirectional none, BOS": ((3.0, 3.5), (5.0, 5.8), (2.1, 2.2)),
    "bidirectional none": ((3.0, 3.5), (5.0, 5.8), (2.1, 2.2)),
    "bidirectional learned, BOS": ((6.9, 16.5), (3.1, 5.3), (2.1, 11.3)),
    "bidirectional learned": ((6.9, 16.5), (3.1, 5.3), (2.1, 11.3)),
}
