"""One episode that somebody else drives, turn by turn, in this process: for training loops, and for other harnesses.

episode = Episode()
turns = episode.reset("presigned-url-download", seed=3)
while not episode.done:
message = ask(turns[0].messages, turns[0].tools)
turns = episode.submit(turns[0].id, message["content"], message.get("tool_calls") or ())
print(episode.verdict().reward)
"""

from harness.env.episode import DrivenEpisode as Episode
from harness.env.episode import SeatTurn, judged, task_named, tasks_named
from harness.env.verdict import EpisodeVerdict

__all__ = ["Episode", "EpisodeVerdict", "SeatTurn", "judged", "task_named", "tasks_named", "verdict"]
