"""Hidden profiles played by people, as in the paper's study of groups (section 4.2): a vote, a timed chat, another vote."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from parley.hosting.group import Form
from worlds.core.turns import OpenTurn

HOSTED: Mapping[str, str] = {"talk": "chat"}
"""Default options of a hosted session."""

_BALLOT = "The options:\n"
_OPTION = re.compile(r"^- \[([^\]\n]+)\] (.+)$", re.MULTILINE)


def form(turn: OpenTurn) -> Form | None:
    """Return the form of a vote or a poll; None for a turn of talk and for a ballot with other wording than ours."""
    if turn.phase == "DISCUSSION":
        return None
    asked, _, ballot = turn.text.rpartition(_BALLOT)
    options = tuple((option, label) for option, label in _OPTION.findall(ballot))
    return Form(asked.strip(), options, "Why, in one or two sentences", _reply) if options else None


def _reply(choice: str, why: str) -> str:
    return json.dumps({"vote": choice, "rationale": why}, ensure_ascii=False)
