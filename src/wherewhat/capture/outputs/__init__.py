"""Read what models predict: classifiers, language models, hidden states."""
