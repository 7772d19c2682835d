"""Whole runs as functions: each returns the settings of one training run."""
