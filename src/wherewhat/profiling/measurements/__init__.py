"""The kinds of measurement that a profile consists of: one file per kind of input, all behind one interface."""
