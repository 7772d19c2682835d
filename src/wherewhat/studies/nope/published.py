"""What arXiv 2305.19466 shows of attention, read from its vector figures. Torch-free."""

from wherewhat.studies.nope.results import AGAIN, ALIBI, APE, FAR, LONGER, NEAR, NOPE, QUARTER, T5, TRAINED

# On SCAN, trained up to 25 actions: heights of the released divergence, to be compared with that one alone.
LENGTHS = (2, 10, 20, 25, 30, 40, 48)
HEIGHTS = {
    AGAIN: (0.101, 0.263, 0.280, 0.285, 0.295, 0.317, 0.301),
    T5: (0.098, 0.247, 0.284, 0.298, 0.303, 0.312, 0.305),
    ALIBI: (0.142, 0.425, 0.518, 0.549, 0.613, 0.695, 0.733),
    APE: (0.212, 0.682, 0.839, 0.783, 0.904, 0.934, 0.937),
    QUARTER: (0.318, 0.886, 1.139, 1.075, 1.238, 1.288, 1.307),
}
MEANS = {  # up to 25 actions, and beyond
    AGAIN: {TRAINED: 0.254, LONGER: 0.291},
    T5: {TRAINED: 0.249, LONGER: 0.298},
    ALIBI: {TRAINED: 0.437, LONGER: 0.624},
    APE: {TRAINED: 0.651, LONGER: 0.893},
    QUARTER: {TRAINED: 0.895, LONGER: 1.222},
}
ORDER = (T5, ALIBI, APE, QUARTER)  # from near to far

# On addition with the full scratchpad: shares of output rows by the relative distance of their most attended key.
BINS = {  # centred at 0, 0.05, 0.10; from 0.15 to 0.80 together; from 0.85 to 1 together
    NOPE: (0.407, 0.150, 0.033, 0.186, 0.225),
    T5: (0.379, 0.157, 0.061, 0.210, 0.193),
    ALIBI: (0.646, 0.175, 0.033, 0.120, 0.026),
    QUARTER: (0.131, 0.070, 0.053, 0.542, 0.204),
    APE: (0.133, 0.055, 0.044, 0.642, 0.127),
}
MASSES = {arm: {NEAR: round(sum(bins[:3]), 3), FAR: bins[4]} for arm, bins in BINS.items()}
