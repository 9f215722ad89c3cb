"""A public case that the tests play: what its engine prints, with which argument it dies, and with which it starts."""

# tests/cases/crashes.jsonl, gh-club-3090-35: what is printed; 90000 tokens are confirmed to start on the same card
PREVIOUS = (
    "ValueError: To serve at least one request with the model's max seq len (180000), 3.05 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (2.17 GiB). Based on the available memory, the estimated "
    "maximum model length is 111456.\n"
)
ARGS = ["--model=Qwen/Qwen3.6-27B", "--max-model-len=180000"]
CRASHES = {"oomedic.test/crashes-with": "--max-model-len=180000"}
CARD = {"nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-3090", "nvidia.com/gpu.memory": "24576"}
LENGTH = 110592
"""The largest multiple of 4096 within the 111456 tokens that the engine printed."""
QUICK = ("--soak", "2s", "--timeout", "60s")
