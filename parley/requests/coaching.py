"""Retry of the failed episodes of an earlier run, with or without a note on why they failed.

The condition is one of three: `none` (no note: the baseline), `correct` (the label of the first attempt) and `wrong` (another
label, chosen by the family). Task, seed, attempt and options are the same, in a fresh conversation. The run's own files are
untrusted: they never decide whose code runs here, or to which address an API key is sent (`harness.runs.addresses`).
"""

from __future__ import annotations

from pathlib import Path

from harness.agent import AgentSpec
from harness.errors import UsageError, quoted
from harness.plugins import family_part
from harness.records import Hint, HintMode, Result, RunFolder
from harness.runs.addresses import settled
from harness.runs.request import Coached, Confirmed, FirstRun, Retry, read_record, requested
from worlds.core.chance import PUBLISHED_KEY, key_digest

MODES: tuple[HintMode, ...] = ("none", "correct", "wrong")


def first_player(first: FirstRun, api_base: str | None, confirmed: Confirmed) -> AgentSpec | None:
    """Return the model or the team of an earlier run with its settings, or None if the run had neither.

    The address must be typed or confirmed. Raises UsageError for an address that only the file names, and for a run whose
    file does not record the agent.
    """
    agent = first.record.identity.agent
    if agent.model is None and agent.team is None:
        return None
    request = requested(first.record, first.folder)
    spec = next(part.agent for part in request.parts if part.name == first.record.part)
    of = first.retry.of
    return settled(spec, f"{of}/run.json", f"{of} was played", typed=api_base, confirmed=confirmed)


def read_retry(folder: Path, hint: str, key: str = PUBLISHED_KEY) -> FirstRun:
    """Return the run in `folder` and the retry of its failed episodes; raises UsageError if there is nothing to retry."""
    mode = next((mode for mode in MODES if mode == hint), None)
    if mode is None:
        raise UsageError(f"hint must be one of {', '.join(MODES)}, not {hint!r}")
    record = read_record(RunFolder(folder))
    if record is None:
        raise UsageError(f"{folder} holds no run.json", hint="harness run --retry-of FOLDER, the folder that a run printed")
    failed = [result for result in RunFolder(folder).results() if result.status == "graded" and not result.success]
    if record.identity.key_digest != key_digest(key):
        why = f"{folder} was played in another edition, so a retry would play other instances"
        raise UsageError(why, hint=f"set PARLEY_KEY to the key of that run, or --key {quoted(folder)} if that folder has one")
    if not failed:
        raise UsageError(f"{folder} has no failed episode to retry")
    episodes = tuple(Coached(key=result.key, hint=_hint(result, folder.name, mode)) for result in failed)
    return FirstRun(folder, record, Retry(of=folder.name, mode=mode, episodes=episodes))


def _hint(result: Result, run: str, mode: HintMode) -> Hint:
    first = result.failure_label or "OTHER"
    told = {"none": "", "correct": first}.get(mode)
    if told is None:
        told = str(family_part(result.family, "coaching").far_label(first))
    return Hint(mode=mode, told=told, first_label=first, retry_of=run)
