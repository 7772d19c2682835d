"""The positional part of attention: what is left of it when every token says the same."""
