"""What the tests with a real vLLM are made of: tiny models, processes that always end, many starts at little cost."""
