"""What a verifier's files say where they are no reward and no verdict."""

from __future__ import annotations

import pytest

from harness.agent import Report
from harness.attribution import EpisodeState
from harness.outcome import outcome_of
from harness.pod import EpisodeSpec, Judgement
from harness.records import Key
from tests.shipped import SHIPPED


@pytest.mark.parametrize(
    ("reward", "verdict", "words"),
    [
        (b"", b"{}", "reward.json is not JSON (0 bytes): Expecting value"),
        (b'{"rew', b"{}", "reward.json is not JSON (5 bytes): Unterminated string"),
        (b'{"reward": 1}', b"[", "verdict.json is not a valid verdict (1 bytes): Invalid JSON"),
    ],
)
def test_a_torn_reward_is_told_in_words(reward: bytes, verdict: bytes, words: str) -> None:
    """The file is named, and the episode is ungraded for the verifier's sake."""
    task = next(task for task in SHIPPED if task.task_id == "presigned-url-download")
    key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=1)
    played = EpisodeState(Report(agent="x"), key, judgement=Judgement(reward, verdict), opened=True)
    result = outcome_of(EpisodeSpec("r", "e", task, 0), "inprocess", played).result

    assert (result.status, result.cause) == ("ungraded", "verifier")
    assert words in (result.error or "")
