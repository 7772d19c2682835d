"""How a Transformer is told where its tokens stand: one encoding a file, all behind the same few hooks."""
