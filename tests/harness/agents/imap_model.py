"""A model that plays a protocol: what the local server says in its place at a seat of a calendar."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from typing import Any

from oracles.calendar.protocols import PROTOCOLS
from oracles.calendar.protocols.client import Seat
from tests.oracles.calendar.typed_games import turn

Messages = Sequence[dict[str, Any]]


def imap(messages: Messages) -> str:
    """A model that plays IMAP: it reads its seat in its rules, and its whole conversation anew at every turn."""
    time.sleep(random.uniform(0, 0.004))
    number = int(re.search(r"You are agent (\d+)", messages[0]["content"])[1])  # type: ignore[index]
    client = PROTOCOLS["imap"](Seat(number, 5, 16))
    said = ""
    for message in messages[1:]:
        if message["role"] == "user":
            phase = re.search(r"^Phase: (\w+)", message["content"], re.MULTILINE)
            said = client.reply(turn(phase[1] if phase else "DECISION", message["content"]))
    return said
