"""A model as an agent: the LiteLLM client, two interfaces, prompts, and the loop that joins them."""

__all__ = [
    "agent",
    "asking",
    "cache",
    "chances",
    "completion",
    "conversation",
    "failures",
    "interface",
    "local",
    "meter",
    "model",
    "parallel",
    "prompting",
    "provider",
    "replies",
    "speech",
    "tool",
]
