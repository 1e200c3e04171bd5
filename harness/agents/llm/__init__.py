"""A model as an agent: the LiteLLM client, two interfaces, prompts, and the loop that joins them."""

__all__ = [
    "agent",
    "asking",
    "cache",
    "chances",
    "completion",
    "failures",
    "interface",
    "meter",
    "model",
    "parallel",
    "provider",
    "replies",
    "tool",
]
