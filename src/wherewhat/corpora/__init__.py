"""Sentences to read and questions about them. The only package that knows conllu and tokenizers."""
