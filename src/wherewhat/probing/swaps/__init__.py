"""Sentences with words in other places: shuffled constituents, swapped roles, and controls of equal size."""
