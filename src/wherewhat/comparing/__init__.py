"""Hold the same heads against each other: across checkpoints, across models, before and after training.

Runs that are there are read from their tables; only what has to be profiled first needs a model, and torch.
"""
