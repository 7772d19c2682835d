"""The positional part of attention: what is left of it when all tokens have the same content."""
