"""A harness that is one model call a turn, in this process: what a seat is asked, and what it says.

Its calls go through the rollout's interception, as those of a program do, so traces and training data are complete; but no
program is started, which with the built-in chat harness takes seconds a seat.
"""

from __future__ import annotations

from typing import Any

import httpx
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

from parley_vf.taskset import ParleyData


class SpeakingConfig(vf.HarnessConfig):
    """There is nothing to set."""


class SpeakingHarness(vf.Harness[SpeakingConfig]):
    """Asks the model once and is done; tools are the environment's to carry out."""

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
        """One completion of the conversation so far."""
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
