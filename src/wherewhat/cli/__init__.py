"""The command line: one command per file. Reads arguments, calls one function, prints one line."""
