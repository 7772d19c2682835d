"""Questions put to a whole model: what words in other places, exchanged roles and dependencies do to it."""
