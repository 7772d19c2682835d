"""Probes of a whole model: shuffled words, swapped roles, and dependency relations found by attention."""
