"""Questions asked of rows of attention, one idea per file. Pure functions of tensors: this room never sees a model."""
