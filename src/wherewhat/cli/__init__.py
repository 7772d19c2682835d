"""The command line: one command a file. Reads arguments, calls one function, prints one line."""
