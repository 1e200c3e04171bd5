"""A verifiers harness that makes one model call per turn, in this process.

Its calls go through the rollout's interception like those of a program, so traces and training data are complete. No program is
started, which takes seconds per seat with the built-in chat harness.
"""

from __future__ import annotations

from typing import Any

import httpx
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

from parley_vf.taskset import ParleyData


class SpeakingConfig(vf.HarnessConfig):
    """Config without settings."""


class SpeakingHarness(vf.Harness[SpeakingConfig]):
    """Calls the model once per turn. The environment executes tool calls."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Request one completion of the conversation so far."""
        system, prompt = self.resolve_prompt(data)
        said = (
            [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [message_to_wire(one) for one in prompt or []]
        )
        rules = [{"role": "system", "content": system}] if system else []
        body: dict[str, Any] = {"model": ctx.model, "messages": [*rules, *said]}
        if isinstance(data, ParleyData) and data.tools:
            body["tools"] = data.tools
        # how long a model may take is for the interception to say
        async with httpx.AsyncClient(timeout=None, trust_env=False) as client:  # noqa: S113
            answer = await client.post(f"{endpoint}/chat/completions", json=body, headers={"authorization": f"Bearer {secret}"})
        return vf.ProgramResult(int(answer.status_code != 200), "", "" if answer.status_code == 200 else answer.text)
