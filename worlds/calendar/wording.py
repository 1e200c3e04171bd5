"""The words of a turn, as pure functions of what a seat is shown: a game says them a hundred times.

What is said once a game - the instruction, a seat's rules - stands in texts/, as templates. A function here is given the parts
that its text is made of and nothing else, so what it is not given it cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from worlds.calendar.mail import Message
from worlds.calendar.rules.scenario import Meeting


def headline(meeting: Meeting, label: str) -> str:
    """What a text is about; `label` is empty for who takes no part."""
    shown = f"Meeting M{meeting.id}, participants={list(meeting.participants)}, duration={meeting.duration}"
    return f"{shown}, private_label='{label}'" if label else shown


def turns_left(turn: int, cap: int) -> str:
    """How many turns of cheap talk are left; `turn` counts from 1."""
    left = f"turn {turn} of {cap}; {cap - turn} left after this one."
    if turn < cap:
        return left
    return (
        f"{left}\nThis is the last one: say what you will do, ask nothing that needs an answer, and return [] if all is agreed."
    )


def inbox(mail: Sequence[Message]) -> str:
    """What arrived since the last turn."""
    if not mail:
        return "No new mail."
    return "Your mail:\n" + "\n".join([_letter(number, message) for number, message in enumerate(mail, start=1)])


def round_start(number: int, rounds: int, about: str, calendar: str, spent: int, mail: Sequence[Message], budget: str) -> str:
    """A participant's first turn of a round; `spent` is on the scale that is shown."""
    return f"""\
=== ROUND {number} OF {rounds} ===
{about}
Your calendar:
{calendar}

Cost your user has paid so far: {spent}

{_if_any(mail)}\
Phase: CHEAP_TALK, {budget}
DECISION comes next. Agree with the other participants on one slot that displaces little."""


def turn(meeting: Meeting, mail: Sequence[Message], budget: str) -> str:
    """A later turn of cheap talk."""
    return f"{inbox(mail)}\n\nPhase: CHEAP_TALK about meeting M{meeting.id}, {budget}"


def activation(about: str, calendar: str, mail: Sequence[Message], budget: str) -> str:
    """The first turn of somebody who takes no part in the meeting and was written to."""
    return f"""\
You were written to about a meeting that you take no part in.
{about}
Your calendar:
{calendar}

{inbox(mail)}

Phase: CHEAP_TALK, {budget}
You may answer. After the talk you may move items of your own calendar, to keep what you promise here."""


def voluntary(about: str, calendar: str, mail: Sequence[Message]) -> str:
    """What an outsider who was written to may do before the decision."""
    return f"""\
Phase: VOLUNTARY.
You take no part in this meeting, and were written to about it:
{about}
Your calendar:
{calendar}

{_if_any(mail)}\
You may move items now, by reschedule actions alone, to keep what you promised. A meeting must stand in one slot on all its
participants' calendars, so move one only as agreed with them. Return [] to change nothing."""


def decision(meeting: Meeting, about: str, calendar: str, mail: Sequence[Message]) -> str:
    """What a participant decides by: the calendar as it is now."""
    return f"""\
Phase: DECISION.
{about}
Your calendar as it is now; what others moved before this is done:
{calendar}

{_if_any(mail)}\
Send one batch: exactly one schedule action for meeting M{meeting.id}, at the slot that was agreed, and a \
reschedule action for each
item that has to make room. The batch is applied as a whole or not at all. Messages are not delivered any more."""


def retry(attempt: int, attempts: int, why: Sequence[str], *, schedule: bool) -> str:
    """Why a batch was refused, and the whole of it asked for again."""
    reasons = "".join(f"- {one}\n" for one in why)
    once_more = "Send the whole batch again" + (", the schedule action included." if schedule else ".")
    return f"Your batch was refused (attempt {attempt} of {attempts}); nothing of it was applied:\n{reasons}{once_more}"


def _letter(number: int, message: Message) -> str:
    # a line of a message is set in, so that none can pass for a line of ours
    content = "\n    ".join(message.content.splitlines())
    return f"[{number}] From agent {message.sender} by {message.channel} (meeting {message.meeting}): {content}"


def _if_any(mail: Sequence[Message]) -> str:
    return f"{inbox(mail)}\n\n" if mail else ""
