"""How the GPU's memory is spent."""
