"""From any model to rows of attention. The only room that knows transformers."""
