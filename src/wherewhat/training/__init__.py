"""One training run: its settings, its loop, and the checkpoints that survive a power cut."""
