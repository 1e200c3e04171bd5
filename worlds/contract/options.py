"""Options of every contract task: early end of an episode, and mutations of the path between agent and world."""

from __future__ import annotations

from worlds.core.manifest import Option

OPTIONS = {
    "stop_on_violation": Option(
        type="bool", default=False, doc="end the episode at the first broken rule, as the paper does (Appendix L)"
    ),
    "mutate": Option(default="", doc="what the path does to the agent's bytes, e.g. clip=200, or resort+linewrap"),
    "handles": Option(type="bool", default=False, doc="whether @HANDLE:name stands for a value that the agent stored"),
    "mitigate": Option(default="", doc="help on the path: backoff, ttl, or backoff+ttl"),
}
