"""A model as an agent: the LiteLLM client, two interfaces, prompts, and the loop that joins them."""

__all__ = [
    "agent", "completion", "doctor", "failures", "interface", "local", "meter", "model",
    "model_table", "parallel", "replies", "wire", "wire_log",
]  # fmt: skip
