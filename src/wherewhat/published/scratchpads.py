"""Published accuracies with scratchpads, by format and encoding, read from vector figures (arXiv 2305.19466).

Means over lengths 9 to 16 (addition: over all longer numbers) and three seeds. The order of formats is that of
`FORMATS`; sorting and LEGO have no variables, and leaving out their computation was not reported.
"""

from wherewhat.published.length import ORDER

FORMATS = ("none", "minimal", "full", "no_input", "no_computation", "no_output", "no_variables", "no_rest")
_FEWER = ("none", "minimal", "full", "no_input", "no_output", "no_rest")
_ROWS: dict[str, tuple[tuple[float, ...], ...]] = {
    "addition": (
        (0.084, 0.150, 0.156, 0.156, 0.135, 0.155, 0.161, 0.189),
        (0.072, 0.147, 0.162, 0.188, 0.130, 0.155, 0.180, 0.175),
        (0.077, 0.138, 0.108, 0.107, 0.093, 0.102, 0.112, 0.099),
        (0.000, 0.046, 0.063, 0.056, 0.069, 0.062, 0.069, 0.021),
        (0.004, 0.056, 0.075, 0.076, 0.074, 0.074, 0.079, 0.020),
    ),
    "sum": (
        (0.301, 0.234, 0.316, 0.249, 0.247, 0.293, 0.309, 0.210),
        (0.220, 0.205, 0.306, 0.270, 0.232, 0.295, 0.276, 0.164),
        (0.230, 0.200, 0.233, 0.187, 0.187, 0.194, 0.195, 0.205),
        (0.086, 0.089, 0.096, 0.085, 0.092, 0.085, 0.091, 0.089),
        (0.109, 0.094, 0.090, 0.089, 0.091, 0.090, 0.089, 0.088),
    ),
    "parity": (
        (0.749, 0.707, 0.565, 0.626, 0.535, 0.566, 0.567, 0.679),
        (0.681, 0.623, 0.603, 0.562, 0.563, 0.600, 0.572, 0.706),
        (0.617, 0.591, 0.562, 0.557, 0.580, 0.587, 0.549, 0.588),
        (0.512, 0.485, 0.491, 0.499, 0.370, 0.505, 0.491, 0.503),
        (0.529, 0.516, 0.489, 0.471, 0.498, 0.484, 0.492, 0.514),
    ),
    "poly": (
        (0.387, 0.271, 0.256, 0.263, 0.253, 0.230, 0.284, 0.186),
        (0.360, 0.260, 0.273, 0.269, 0.268, 0.265, 0.269, 0.249),
        (0.631, 0.276, 0.275, 0.269, 0.282, 0.255, 0.271, 0.275),
        (0.482, 0.264, 0.169, 0.105, 0.103, 0.136, 0.103, 0.118),
        (0.213, 0.200, 0.155, 0.151, 0.153, 0.155, 0.169, 0.198),
    ),
    "lego": (
        (0.646, 0.656, 0.580, 0.552, 0.616, 0.658),
        (0.705, 0.653, 0.566, 0.537, 0.607, 0.653),
        (0.797, 0.604, 0.670, 0.675, 0.669, 0.693),
        (0.748, 0.514, 0.497, 0.507, 0.500, 0.520),
        (0.610, 0.505, 0.596, 0.575, 0.612, 0.514),
    ),
    "sort_multi": (
        (0.264, 0.269, 0.134, 0.132, 0.071, 0.153),
        (0.371, 0.283, 0.149, 0.146, 0.089, 0.110),
        (0.295, 0.301, 0.157, 0.154, 0.125, 0.211),
        (0.751, 0.302, 0.004, 0.013, 0.003, 0.126),
        (0.112, 0.006, 0.003, 0.004, 0.002, 0.032),
    ),
    "sort_single": (
        (0.995, 0.911, 0.129, 0.115, 0.116, 0.286),
        (0.987, 0.875, 0.115, 0.097, 0.110, 0.303),
        (0.623, 0.531, 0.089, 0.091, 0.104, 0.187),
        (0.489, 0.120, 0.006, 0.006, 0.003, 0.037),
        (0.102, 0.000, 0.000, 0.000, 0.000, 0.000),
    ),
}
ACCURACY: dict[str, dict[str, dict[str, float]]] = {  # by task, encoding and format
    task: {
        encoding: dict(zip(FORMATS if len(row) == len(FORMATS) else _FEWER, row, strict=True))
        for encoding, row in zip(ORDER, rows, strict=True)
    }
    for task, rows in _ROWS.items()
}


def best_without() -> tuple[int, int]:
    """In how many pairs of a task other than addition and an encoding no scratchpad is best, and how many pairs.

    >>> best_without()
    (21, 30)
    """
    rows = [row for task, by_encoding in ACCURACY.items() if task != "addition" for row in by_encoding.values()]
    return sum(row["none"] == max(row.values()) for row in rows), len(rows)
