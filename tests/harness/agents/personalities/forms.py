"""Forms in which a reply is written: fences, quotes, tables, broken JSON. Pure functions of a `Turn`."""

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

THOUGHT = "purple otter"
"""Words that are only ever thought. No other seat may read them."""


class Turn(NamedTuple):
    """One turn of a game: what is asked, what a sensible player replies, and what the text may be confused with."""

    kind: str  # "decision", "talk" or "vote"
    answer: dict[str, Any]
    other: dict[str, Any]  # a reply of the same kind that means something else
    prompt: str  # what the seat was sent
    option: str = ""  # of a vote: the label that is voted for
    other_option: str = ""


def other_answer(answer: dict[str, Any], slots: int = 16) -> dict[str, Any]:
    """Return a reply of the game of calendars that does something else than `answer`."""
    changed = copy.deepcopy(answer)
    actions = changed["actions"]
    scheduled = [action for action in actions if action["type"] == "schedule"]
    if scheduled:
        scheduled[0]["slot"] = (scheduled[0]["slot"] + 1) % slots
    elif actions:
        changed["actions"] = []
    else:
        changed["actions"] = [{"type": "participant_groupchat", "content": "Slot 15 for me, whatever it costs."}]
    return changed


def dumps(value: object, **options: Any) -> str:
    """Return a value as JSON with letters as they are."""
    return json.dumps(value, ensure_ascii=False, **options)


def plain(turn: Turn) -> str:
    """Return the answer as JSON in one line."""
    return dumps(turn.answer)


def around(before: str, after: str = "") -> Callable[[Turn], str]:
    """Return a voice that puts prose before and after the answer."""
    return lambda turn: f"{before}{plain(turn)}{after}"


def fence(text: str, label: str = "json") -> str:
    """Return a text in a Markdown fence."""
    return f"```{label}\n{text}\n```"


def convert(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with `change` applied to all that is neither a list nor an object."""
    if isinstance(value, dict):
        return {key: convert(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [convert(item, change) for item in value]
    return change(value)


def rename(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with all keys changed."""
    if isinstance(value, dict):
        return {change(key): rename(item, change) for key, item in value.items()}
    return [rename(item, change) for item in value] if isinstance(value, list) else value


def numbers_as_strings(turn: Turn) -> str:
    """Return the answer with "3" for 3."""
    return dumps(convert(turn.answer, lambda item: str(item) if isinstance(item, int) else item))


def numbers_as_floats(turn: Turn) -> str:
    """Return the answer with 3.0 for 3."""
    return dumps(convert(turn.answer, lambda item: float(item) if isinstance(item, int) else item))


def with_comments(turn: Turn) -> str:
    """Return the answer with two comments in it."""
    lines = dumps(turn.answer, indent=2).split("\n")
    lines[0] += " // my reply"
    lines.insert(1, "  /* nothing is hidden here: [1, 2] {3} */")
    return "\n".join(lines)


def trailing_commas(turn: Turn) -> str:
    """Return the answer with a comma after the last entries."""
    text = dumps(turn.answer, indent=1)
    return text.replace("\n}", ",\n}").replace('"\n ', '",\n ').replace("]\n}", "],\n}")


def single_quotes(turn: Turn) -> str:
    """Return the answer in single quotes."""
    quoted = convert(turn.answer, lambda item: item.replace("'", "`").replace('"', "`") if isinstance(item, str) else item)
    return dumps(quoted).replace('"', "'")


def unquoted_keys(turn: Turn) -> str:
    """Return the answer with its keys as JavaScript has them."""
    text = plain(turn)
    for key in ("thinking", "actions", "type", "slot", "meeting_id", "vote", "rationale", "to", "content"):
        text = text.replace(f'"{key}":', f"{key}:")
    return text


def curly_quotes(turn: Turn) -> str:
    """Return the answer with typographic quotes."""
    pieces = plain(turn).split('"')
    return "".join(piece + ("“" if index % 2 == 0 else "”") * (index < len(pieces) - 1) for index, piece in enumerate(pieces))


def as_table(turn: Turn) -> str:
    """Say the answer as a Markdown table."""
    if turn.kind == "vote":
        return f"| person | vote |\n|---|---|\n| me | {turn.option} |\n"
    rows = [
        f"| {action['type']} | {', '.join(f'{k}={v}' for k, v in action.items() if k != 'type')} |" for action in actions(turn)
    ]
    return "| action | arguments |\n|---|---|\n" + "\n".join(rows) + "\n"


def table_then_answer(turn: Turn) -> str:
    """Return a table with brackets, then the answer."""
    return "| slot | 3 | 5 | 9 |\n|---|---|---|---|\n| me | [FREE] | [FREE] | {blocked} |\n\n" + plain(turn)


def as_xml(turn: Turn) -> str:
    """Say the answer in XML."""
    if turn.kind == "vote":
        return f"<vote>{turn.option}</vote>"
    tags = "".join(
        f"<{action['type']}>" + "".join(f"<{k}>{v}</{k}>" for k, v in action.items() if k != "type") + f"</{action['type']}>"
        for action in actions(turn)
    )
    return f"<actions>{tags}</actions>"


def as_yaml(turn: Turn) -> str:
    """Say the answer in YAML."""
    if turn.kind == "vote":
        return f"vote: {turn.option}\nrationale: it fits all that I know\n"
    lines = ["actions:"]
    for action in actions(turn):
        lines += [("  - " if index == 0 else "    ") + f"{key}: {value}" for index, (key, value) in enumerate(action.items())]
    return "thinking: short\n" + "\n".join(lines if actions(turn) else ["actions: []"]) + "\n"


def as_prose(turn: Turn) -> str:
    """Say the answer in a sentence."""
    if turn.kind == "vote":
        return f"I vote for {turn.option}."
    said = "; ".join(
        f"{action['type']} with {', '.join(f'{k} {v}' for k, v in action.items() if k != 'type')}" for action in actions(turn)
    )
    return f"What I do now: {said or 'nothing at all'}."


def as_bare_actions(turn: Turn) -> str:
    """Return one object an action, without what should be around them."""
    return dumps({"vote": turn.option}) if turn.kind == "vote" else "\n".join(dumps(action) for action in actions(turn))


def as_list_of_actions(turn: Turn) -> str:
    """Return the list of actions, without the object around it."""
    return dumps([turn.option]) if turn.kind == "vote" else dumps(actions(turn))


def one_action(turn: Turn) -> str:
    """Return an action where a list of one should be."""
    only = turn.kind != "vote" and len(actions(turn)) == 1
    return dumps({**turn.answer, "actions": actions(turn)[0]}) if only else plain(turn)


def numbered(turn: Turn) -> str:
    """Return the answer in a numbered list."""
    return (
        f"1. I looked at what I know [see above].\n2. I weighed it (twice).\n3. My reply:\n   {plain(turn)}\n4. That is all.\n"
    )


def spelled_numbers(turn: Turn) -> str:
    """Return the answer with "three" for 3."""
    words = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()  # noqa: SIM905
    return dumps(convert(turn.answer, lambda item: words[item] if isinstance(item, int) and 0 <= item < 16 else item))


def actions(turn: Turn) -> list[dict[str, Any]]:
    """Return the actions of a reply in the game of calendars."""
    return turn.answer["actions"]


def repeated_key(turn: Turn) -> str:
    """Return an object that has one key with two values."""
    key = "vote" if turn.kind == "vote" else "actions"
    return f'{{"{key}": {dumps(turn.other[key])}, "{key}": {dumps(turn.answer[key])}}}'


def same_with_other_thoughts(turn: Turn) -> str:
    """Say the same twice, with two reasons."""
    again = {**turn.answer, "rationale" if turn.kind == "vote" else "thinking": "Said once more, in other words."}
    return f"{plain(turn)}\n\nTo be clear, that is:\n\n{fence(dumps(again, indent=2))}"


def draft_in_own_thinking(turn: Turn) -> str:
    """Return an answer whose thinking quotes another answer."""
    key = "rationale" if turn.kind == "vote" else "thinking"
    return dumps(
        {key: f"I first wanted {dumps(turn.other)}, or [1, 2]; no.", **{k: v for k, v in turn.answer.items() if k != key}}
    )


def cut_off(turn: Turn) -> str:
    """Return the first half of what is to be done. Where nothing is to be done, the half of the envelope."""
    text = plain(turn)
    return text[: text.rindex(":") + 1] if turn.kind != "vote" else text[: text.index(":") + 3]


def several_fences(turn: Turn) -> str:
    """Return five fences, the last of which is the answer."""
    return (
        "My calendar as a list:\n"
        + fence('["[FREE]", "Errand #3 (cost=10)", "[FREE]"]')
        + "\nA check:\n"
        + fence("free = [3, 5, 9]\nprint({slot: True for slot in free})", "python")
        + "\nWhat the meeting is:\n"
        + fence('{"meeting": 1, "participants": [0, 2, 4]}')
        + "\nMy reply:\n"
        + fence(plain(turn))
        + "\nThanks."
    )


def refusal_with_names(turn: Turn) -> str:
    """Refuse by naming what is refused."""
    if turn.kind == "vote":
        return f"I'm sorry, but I cannot vote for {turn.option} or for {turn.other_option}, or for anything else."
    return "I'm sorry, but I can't schedule anything or write to anyone [policy 3]."


def mail(turn: Turn) -> str:
    """Return the answer as the body of a mail."""
    return (
        "From: assistant-3 <assistant3@calendars.example>\r\nTo: [0, 2, 4]\r\nSubject: {meeting}, [slot 3?]\r\n"
        f"Content-Type: application/json\r\n\r\n{plain(turn)}\r\n\r\n-- \r\nAssistant 3 (participants=[0, 2, 4])\r\n"
    )


RAMBLE = (
    "Let me see. My calendar has [FREE] at [3, 5, 9], and participants=[0, 2, 4] as it says {see above}. "
    "Cost is {10, 100}, f(x) = [x for x in y], a[0] < b{1}, and (as ever) one bracket stays open: [ or {. "
)
