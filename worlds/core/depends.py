"""Dependencies for the path operations of a FastAPI world: the episode, its clock and its chance.

Declare `episode` as `Annotated[YourWorld, Depends(episode)]`, and pass `cost("name")` as a decorator's `openapi_extra`.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request

from worlds.core.chance import Chance
from worlds.core.clock import VirtualClock
from worlds.core.operations import COST


async def episode(request: Request) -> Any:
    """Return the World of this episode, with its drawn instance and its current state."""
    return request.state.episode


async def clock(request: Request) -> VirtualClock:
    """Return the episode's clock; the cost of this request is already charged."""
    held: VirtualClock = request.state.episode.clock
    return held


async def chance(request: Request) -> Chance:
    """Return the episode's chance, with one stream per purpose."""
    held: Chance = request.state.episode.chance
    return held


def cost(name: str) -> dict[str, Any]:
    """Return the `openapi_extra` of an operation that has its own cost in task.toml."""
    return {COST: name}
