"""Interventions inside a model, and their effects on its loss and its heads."""
