"""Where the engine stands in a manifest, and what the manifest says about it."""
