"""A retry plays the failed episodes of an earlier run again, with a note on why they failed, or without one.

The condition is one of three: `none` (no note: the baseline), `correct` (the label that the first attempt earned) and `wrong`
(a label that it did not earn, chosen by the family). Same task, seed, attempt and options; a fresh conversation.
What the run's own files say is data: they never decide whose code runs here, or where a key is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import families
from harness.agents.llm.agent import LlmConfig
from harness.errors import UsageError
from harness.records import Hint, HintMode, Key, Result, RunFolder
from harness.registry import Task
from worlds.core.chance import PUBLISHED_KEY, key_digest

MODES: tuple[HintMode, ...] = ("none", "correct", "wrong")


@dataclass(frozen=True)
class Retry:
    """The failed episodes of one run, each with what its player is told."""

    of: str
    mode: HintMode
    hints: Mapping[Key, Hint]
    identity: Mapping[str, Any]
    """The plan of the first run."""

    def tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Those of the tasks that failed at least once; raises UsageError for one that is another task by now."""
        failed = [task for task in tasks if task.task_id in {key.task_id for key in self.hints}]
        for task in failed:
            if self.identity["tasks"].get(task.task_id) != task.digest:
                raise UsageError(f"{task.task_id} has changed since {self.of}, so a retry would not be of the same instance")
        return failed

    def options(self) -> list[str]:
        """The options of the first run, as --set would say them."""
        return [f"{name}={value}" for name, value in self.identity["options"].items()]

    def model(self, api_base: str | None, confirmed: Callable[[str], bool]) -> LlmConfig | None:
        """The model of the first run and how it played; None where it was no model.

        Whoever wrote run.json may not say where an API key is sent: `api_base` is what was typed, and wins. An address that
        the file alone names counts where a person says so (`confirmed` is asked), else this raises UsageError.
        """
        agent, asked = self.identity["agent"], self.identity["agent"].get("requested", {})
        if "model" not in agent:
            return None
        for name in (agent["model"], *agent.get("seat_models", {}).values()):
            # some providers take the address of their server as the model's name
            if "//" in name and not confirmed(f"{self.of} was played by {name}"):
                raise UsageError(f"{self.of}/run.json names an address as its model: {name}", hint=f"--model {name}")
        address = api_base or agent["api_base"]
        if address != api_base and not confirmed(f"{self.of} was played at {address}"):
            raise UsageError(
                f"{self.of}/run.json names {address}, and a file does not decide where an API key is sent",
                hint=f"the same command with --api-base {address}",
            )
        # JSON made the seats strings, and sorted them as such
        seats = sorted((int(seat), model) for seat, model in agent.get("seat_models", {}).items())
        return LlmConfig(
            agent["model"], agent["interface"], address, asked.get("temperature"), asked.get("max_tokens"),
            handles="handles=true" in self.options(), protocol=agent["protocol"], seat_models=tuple(seats),
        )  # fmt: skip

    def note(self, key: Key) -> str:
        """What is added to the instruction of one episode."""
        told = self.hints[key].told
        return str(families.part(key.family, "coaching").note(told)) if told else ""


def read_retry(folder: Path, hint: str, key: str = PUBLISHED_KEY) -> Retry:
    """The retry of the run in `folder`; raises UsageError where there is nothing to retry."""
    mode = next((mode for mode in MODES if mode == hint), None)
    if mode is None:
        raise UsageError(f"hint must be one of {', '.join(MODES)}, not {hint!r}")
    plan = RunFolder(folder).read_plan()
    if plan is None:
        raise UsageError(f"{folder} holds no run.json", hint="harness run --retry-of FOLDER, the folder that a run printed")
    hints = {result.key: _hint(result, folder.name, mode) for result in RunFolder(folder).results() if _failed(result)}
    if plan["identity"]["key_digest"] != key_digest(key):
        raise UsageError(
            f"{folder} was played in another edition, so these would be other instances", hint="set PARLEY_KEY as then"
        )
    if not hints:
        raise UsageError(f"{folder} has no failed episode to retry")
    return Retry(folder.name, mode, hints, plan["identity"])


def _failed(result: Result) -> bool:
    return result.status == "graded" and not result.success


def _hint(result: Result, run: str, mode: HintMode) -> Hint:
    first = result.failure_label or "OTHER"
    told = {"none": "", "correct": first}.get(mode)
    if told is None:
        told = str(families.part(result.family, "coaching").far_label(first))
    return Hint(mode=mode, told=told, first_label=first, retry_of=run)
