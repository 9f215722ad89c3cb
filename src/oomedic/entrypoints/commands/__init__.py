"""One file per command; each loads only what it needs."""
