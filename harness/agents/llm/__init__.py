"""A model as an agent: the LiteLLM client, two interfaces, prompts, and the loop that joins them."""

__all__ = ["agent", "asking", "cache", "chances", "completion", "meter", "model", "parallel", "provider"]
