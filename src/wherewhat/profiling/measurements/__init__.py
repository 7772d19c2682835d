"""The kinds of measurement a profile can make, one file per kind of input."""
