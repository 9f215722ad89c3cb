"""Values into text, one function per format."""
