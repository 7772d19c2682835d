"""What the two swap probes share: where examples come from, how a model reads them, and what is measured."""
