"""An in-process environment that a training loop or another harness drives turn by turn.

episode = Episode()
turns = episode.reset("presigned-url-download", seed=3)
while not episode.done:
    message = ask(turns[0].messages, turns[0].tools)
    turns = episode.submit(turns[0].id, message["content"], message.get("tool_calls") or ())
print(episode.verdict().reward)
"""

from parley.training.episode import DrivenEpisode as Episode
from parley.training.episode import SeatTurn, judged, task_named, tasks_named
from parley.training.verdict import EpisodeVerdict

__all__ = ["Episode", "EpisodeVerdict", "SeatTurn", "judged", "task_named", "tasks_named", "verdict"]
