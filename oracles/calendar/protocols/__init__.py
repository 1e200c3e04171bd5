"""Reference protocols without a model: typed JSON messages over the same channels, played through the Turn protocol."""

from __future__ import annotations

from collections.abc import Callable

from oracles.calendar.protocols.client import Seat, TypedClient
from oracles.calendar.protocols.dsm import dsm_private, dsm_private_exhaustive, dsm_welfare
from oracles.calendar.protocols.imap import Imap
from oracles.calendar.protocols.sdmap import SdMap

PROTOCOLS: dict[str, Callable[[Seat], TypedClient]] = {
    "imap": Imap,
    "sd-map": SdMap,
    "dsm-welfare": dsm_welfare,
    "dsm-private": dsm_private,
    "dsm-private-exhaustive": dsm_private_exhaustive,
}
"""Name -> factory for a seat of the protocol."""
