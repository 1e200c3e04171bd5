"""Models as agents: the LiteLLM client, two interfaces, prompts, and the conversation loop."""
