"""oomedic: the remedy for a vLLM pod that crash-loops on GPU memory.

The promised names are loaded when they are first used, so that ``import oomedic`` stays as quick as plain Python.
"""

__version__ = "0.1.0"
