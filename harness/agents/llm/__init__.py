"""Models as agents: the LiteLLM client, two interfaces, prompts, and the conversation loop."""

__all__ = [
    "agent", "completion", "doctor", "failures", "interface", "local", "meter", "model",
    "model_table", "parallel", "replies", "wire", "wire_log",
]  # fmt: skip
