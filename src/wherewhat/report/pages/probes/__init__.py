"""The pages of the probes: shuffled words, swapped roles, dependency relations."""
