"""What a path operation of a FastAPI world asks for with `Depends`: its episode, and that episode's clock and chance.

`episode` is written as `Annotated[YourWorld, Depends(episode)]`; `cost("name")` goes into a decorator's `openapi_extra`.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request

from worlds.core.chance import Chance
from worlds.core.clock import VirtualClock
from worlds.core.operations import COST


async def episode(request: Request) -> Any:
    """The World of this episode: everything that was drawn for it, and that requests have changed."""
    return request.state.episode


async def clock(request: Request) -> VirtualClock:
    """The episode's clock; this request's cost is charged already."""
    held: VirtualClock = request.state.episode.clock
    return held


async def chance(request: Request) -> Chance:
    """The episode's chance: one stream a purpose."""
    held: Chance = request.state.episode.chance
    return held


def cost(name: str) -> dict[str, Any]:
    """What to pass as `openapi_extra` for an operation that has a cost of its own in task.toml."""
    return {COST: name}
