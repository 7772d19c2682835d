"""Sentences with words in other places: phrases shuffled, agent and patient exchanged, and controls of equal size."""
