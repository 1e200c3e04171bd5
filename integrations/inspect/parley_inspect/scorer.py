"""The hidden tests' verdict as an Inspect score: its value is the reward, its answer the label."""

from __future__ import annotations

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from parley_inspect.solver import KEPT


@scorer(metrics=[mean(), stderr(cluster="task_id")])
def parley_scorer() -> Scorer:
    """Return a scorer that reads the episode's verdict. Standard errors are clustered by task, since its seeds are similar."""

    async def score(state: TaskState, target: Target) -> Score:
        verdict = state.store.get(KEPT)
        if verdict is None:
            raise RuntimeError("the episode has no verdict: it needs parley_solver")
        said = {name: verdict[name] for name in ("severity", "success", "seat_rewards", "trace_hash")}
        return Score(value=verdict["reward"], answer=verdict["label"], explanation=verdict["why"], metadata=said)

    return score
