"""Published results on length generalisation: T5-base as a decoder, trained on short inputs (arXiv 2305.19466).

Accuracies are means of three seeds over all test lengths pooled; those of the tasks in `READ_FROM_FIGURES` are means
over lengths 9 to 16, as the raw rows were never released.
"""

GROUPS: dict[str, tuple[str, ...]] = {
    "primitive": (
        *("copy_repeat", "copy_repeat2x", "copy_replace", "copy_random", "copy_random2x"),
        *("reverse", "reverse2x", "reverse_copy"),
    ),
    "maths": ("addition", "poly", "sort_single", "sort_multi", "sum", "parity", "lego"),
    "classic": ("scan", "pcfg"),
}
ORDER = ("none", "t5_bias", "alibi", "rope_quarter", "sinusoidal")  # of the columns below
ACCURACY: dict[str, tuple[float, ...]] = {
    "copy_repeat": (0.986, 0.771, 0.289, 0.000, 0.000),
    "copy_repeat2x": (0.974, 0.558, 0.194, 0.000, 0.000),
    "copy_replace": (0.967, 0.939, 0.170, 0.016, 0.000),
    "copy_random": (0.305, 0.420, 0.331, 0.011, 0.028),
    "copy_random2x": (0.431, 0.524, 0.569, 0.043, 0.040),
    "reverse": (0.230, 0.242, 0.171, 0.077, 0.023),
    "reverse2x": (0.473, 0.448, 0.195, 0.053, 0.011),
    "reverse_copy": (0.182, 0.140, 0.115, 0.000, 0.000),
    "scan": (0.797, 0.799, 0.438, 0.283, 0.057),
    "pcfg": (0.433, 0.439, 0.428, 0.439, 0.367),
    "addition": (0.085, 0.072, 0.077, 0.000, 0.004),
    "sum": (0.301, 0.220, 0.231, 0.086, 0.109),
    "parity": (0.749, 0.681, 0.617, 0.512, 0.529),
    "sort_single": (0.995, 0.987, 0.623, 0.489, 0.102),
    "sort_multi": (0.264, 0.371, 0.295, 0.751, 0.112),
    "poly": (0.387, 0.360, 0.631, 0.481, 0.213),
    "lego": (0.646, 0.705, 0.797, 0.748, 0.610),
}
READ_FROM_FIGURES = ("sum", "parity", "sort_single", "sort_multi", "poly", "lego")
RANK: dict[str, tuple[float, ...]] = {  # mean reciprocal ranks: over all 51 queries, and by group
    "all": (0.687, 0.549, 0.502, 0.330, 0.215),
    "primitive": (0.80, 0.60, 0.43, 0.24, 0.21),
    "maths": (0.61, 0.45, 0.59, 0.40, 0.23),
    "classic": (0.50, 0.71, 0.46, 0.42, 0.20),
}
# Perplexity of documents of 2,750 to 3,000 tokens in larger language models, trained on 1,024 tokens, by context.
CONTEXTS = (512, 1024, 1200, 1400, 1600, 1800, 2048, 2560)
PERPLEXITY: dict[str, tuple[float, ...]] = {
    "none": (2.85, 2.67, 2.62, 2.50, 3.84, 41.2, 152, 536),
    "alibi": (2.83, 2.74, 2.74, 2.74, 3.68, 13.8, 43.0, 150),
    "rope_quarter": (2.77, 2.61, 3.32, 156, 507, 675, 677, 760),
}


def winners(task: str) -> tuple[str, ...]:
    """The encodings with the best published accuracy in a task.

    >>> winners("copy_repeat"), winners("pcfg")
    (('none',), ('t5_bias', 'rope_quarter'))
    """
    row = ACCURACY[task]
    return tuple(name for name, value in zip(ORDER, row, strict=True) if value == max(row))
