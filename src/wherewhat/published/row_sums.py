"""Published accuracies of row sums, as shares of slots, by task and encoding (arXiv 2205.13401).

Read from a poster, so they are rounded. All slots are scored, in the even task both halves together. Named are the
encodings that were released: a relative bias per offset, and URPE over it.
"""

BY_TASK: dict[str, dict[str, float]] = {
    "position": {"toeplitz": 0.10, "urpe over toeplitz": 1.0},
    "even": {"toeplitz": 0.55, "urpe over toeplitz": 1.0},
}
