"""Many training runs: a recipe at every point of a grid of settings, from several seeds."""
