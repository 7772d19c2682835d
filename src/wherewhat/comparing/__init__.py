"""Compare the same heads across checkpoints, across models, and before and after training.

Finished runs are read from their tables; only what has to be profiled first needs a model, and torch.
"""
