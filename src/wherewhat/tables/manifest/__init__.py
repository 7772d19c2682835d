"""The manifest of a run: one frozen dataclass per section and per kind of run, written and read by `io` alone."""
