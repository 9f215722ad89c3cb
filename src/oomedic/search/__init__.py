"""Which instance types run a model, and in which forms the model is to be had."""
