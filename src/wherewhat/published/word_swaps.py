"""Published results for shuffled constituents and swapped roles: four models fine-tuned on SNLI (arXiv 2310.12864)."""

SOURCE = "published (arXiv 2310.12864, earlier version): other models, fine-tuned on another data set, SNLI"
SIZES = ("3", "4", "5", "6", "whole")
CHANGES = {  # in points, by size
    "BERT": (-0.4, -0.6, -0.3, -0.5, -2.7),
    "ALBERT": (-0.5, -1.1, -1.3, -1.7, -6.0),
    "DeBERTa": (-0.5, -0.7, -1.3, -1.1, -5.1),
    "XLNet": (-0.2, -0.3, -0.7, -1.2, -5.4),
}
ROLES = {  # right answers in per cent before, and the change in points
    "BERT": (89.8, -63.9),
    "ALBERT": (92.0, -66.8),
    "DeBERTa": (91.6, -58.9),
    "XLNet": (91.3, -57.8),
}
