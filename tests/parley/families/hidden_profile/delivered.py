"""Everything that a session hands out: the instruction, each seat's rules, each turn, and the whole log."""

from __future__ import annotations

import json
from collections.abc import Mapping

from harness.agents.turns import TurnClient
from harness.pod import EpisodeSpec
from harness.registry import Task
from harness.runtimes.inprocess import InProcessPod
from worlds.core.manifest import OptionValue


def delivered(task: Task, options: Mapping[str, OptionValue]) -> list[str]:
    """Play one session in which everybody votes the last option shown and says next to nothing."""
    pod = InProcessPod(EpisodeSpec("delivered", task.task_id, task, 0, overrides=options))
    client = TurnClient(pod)
    texts = [pod.instruction, json.dumps(client.session(), ensure_ascii=False)]
    turns = client.open()
    while turns:
        turn = turns[0]
        texts.append(turn.text)
        turns = client.answer(turn.id, "Hm." if turn.phase == "DISCUSSION" else '{"vote": "o1", "rationale": "so"}')
    return [*texts, pod.finish().decode()]
