"""Position encodings for Transformers: one encoding per file, all behind the same few hooks."""
