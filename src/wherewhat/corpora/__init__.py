"""Sentences to read and questions about them. The only room that knows conllu and tokenizers."""
