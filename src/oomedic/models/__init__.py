"""Models as their files describe them: architectures, quantisation, checkpoints."""
