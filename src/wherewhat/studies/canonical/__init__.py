"""One head with one rotary frequency: which tasks can it learn at which angle? After arXiv 2511.11579.

The net is so small that hundreds of copies train in parallel: one per base angle and seed. Array names in this study
end in these letters, in addition to those of `axes`: E seed, A base angle, R run (a seed and an angle, E · A), Y sample
of a run (a seed, a sample and an angle, E · N · A), M symbol, U query, V answer, W weight of a net, X row to gather
from a table or to add to one. Here are the sizes and names that all its files share.
"""

BASES = (2.0, 1.5, 1.0, 0.8, 0.5, 0.4, 0.25, 0.1, 0.01, 0.0)  # angles, called 0 to 9 in the paper
CONTEXT, SYMBOLS, INTEGERS = 32, 16, 32
TOKENS = CONTEXT + 1  # with the query
BINS = [f"{first}–{first + 3}" for first in range(0, CONTEXT, 4)]  # slots of the answer that are counted together
INDEX, RETRIEVAL, INDUCTION = "index", "retrieval", "partial_induction"
ONE_PLANE, TWO_PLANES = f"{INDUCTION}, 1 plane", f"{INDUCTION}, 2 planes"
LEARNT, SOLVED = 0.95, 0.98  # accuracies from which a task counts as learnt, and as solved
