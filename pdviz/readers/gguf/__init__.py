"""GGUF files: the header, and the bytes of every tensor."""
