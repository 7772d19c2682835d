"""One question a file, asked of rows of attention. Pure functions of tensors: this room never sees a model."""
