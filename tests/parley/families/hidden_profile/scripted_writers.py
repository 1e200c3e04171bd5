"""Models that make tasks and try them, as functions of the conversation: a writer that dresses outlines, judges that add up.

The brief that the writer makes states every rule in words that the judge can parse, and each private text says whether one
matter is true: so a judge with everything finds the key by the rules of the brief, and one with a hand does not. A text
without a matter is about one that no rule names. Prose says in each hidden text which of how many clues it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from parley.testing.scripts import Script

Messages = Sequence[dict[str, Any]]

LEADER, LABELS = "Dormouse", ("Alder", "Birch", "Cedar")
KEY = "Kestrel"
"""The answer of prose."""


def writer(*changes: Callable[[dict[str, Any]], Any]) -> Callable[[Messages], str]:
    """A model that dresses the n-th outline it is given and lets the n-th change, if any, spoil the document."""
    left = list(changes)

    def play(messages: Messages) -> str:
        document = dressed(messages[0]["content"])
        said = left.pop(0)(document) if left else None
        return said if isinstance(said, str) else "Here it is:\n```json\n" + json.dumps({"scenario": document}) + "\n```"

    return play


def dressed(prompt: str) -> dict[str, Any]:
    """The outline of a prompt with all its words."""
    document: dict[str, Any] = json.loads(prompt.partition("change nothing else:\n")[2].partition("\n\nAnswer")[0])
    weights = [words.get("weights", {}) for card in document["cards"] if card["scope"] == "shared" for words in card["texts"]]
    leader = max((worth, option) for one in weights for option, worth in one.items())[1]
    others = iter(LABELS)
    for option in document["options"]:
        option["label"] = LEADER if option["id"] == leader else next(others)
    document |= {"title": "Birds and mice", "domain": "a wood", "brief": _brief(document)}
    for name, atom in document["atoms"].items():
        atom["gloss"] = f"the matter {name} holds"
    for place, card in enumerate(document["cards"]):
        for number, words in enumerate(card["texts"]):
            stone = f"({place}-{number})"
            said = [
                f"it says that {one.removeprefix('!')} is {'false' if '!' in one else 'true'}"
                for one in words.get("asserts", ())
            ] or [f"it says that a{place + 90} is {'false' if place % 2 else 'true'}"]
            words["text"] = f"The note lay under stone {stone}{''.join(f' and {one}' for one in said)}."
            words["cues"] = [[f"under stone {stone}"], ["the note", f"stone {stone}"]]
    return document


def _brief(document: dict[str, Any]) -> str:
    """Every rule in a sentence."""
    labels = {option["id"]: option["label"] for option in document["options"]}
    bodies = [(labels[rule["out"]], [one.replace("!", "not ") for one in rule["when"]]) for rule in document["rules"]]
    tally = document.get("tally") or {"points": {}}
    counted = [(labels[one], ", ".join(points), tally["start"].get(one, 0)) for one, points in tally["points"].items()]
    rules = [f"{label} is out where {' and '.join(body)}." for label, body in bodies]
    rules += [f"Points for {label}: {matters} and {start} besides." for label, matters, start in counted]
    return " ".join(["Exactly one animal will do.", *rules])


def fields(people: int, **changes: Any) -> dict[str, Any]:
    """A task in the published fields."""
    return {
        "rationale": "The answer is the kestrel, by a table that nobody may see.",
        "name": "birds_and_mice",
        "description": "Exactly one animal will do.",
        "shared_information": ["Everybody likes dormice."],
        "hidden_information": [f"The stone was warm. Clue {place} of {people}." for place in range(1, people + 1)],
        "possible_answers": [LEADER, KEY, LABELS[0]],
        "correct_answer": KEY,
        **changes,
    }


def judge(messages: Messages) -> str:
    """Goes by the brief: what it rules out, or counts, where every matter is known; else the leader."""
    return vote(answer(messages[0]["content"]) or LEADER)


def answer(rules: str) -> str | None:
    """The one option that a person's rules and points leave, as the writer words them; None where a matter is unknown."""
    true = {atom: so == "true" for atom, so in re.findall(r"it says that (a\d+|known) is (true|false)", rules)}
    bodies = re.findall(r"(\w+) is out where ([^.]*)\.", rules)
    counted = re.findall(r"Points for (\w+): (.*?) and (\d+) besides", rules)
    asked = {atom for _, body in (*bodies, *(one[:2] for one in counted)) for atom in re.findall(r"a\d+|known", body)}
    if not asked <= true.keys():
        return None
    if counted:
        points = {label: 3 * sum(true[one] for one in matters.split(", ")) + int(start) for label, matters, start in counted}
        return max(points, key=lambda label: points[label])

    def holds(literal: str) -> bool:
        return true[literal.removeprefix("not ")] is not literal.startswith("not ")

    out = {label for label, body in bodies if all(map(holds, body.split(" and ")))}
    (left,) = set(re.findall(r"^- \[\w+\] (\w+)$", rules, re.MULTILINE)) - out
    return str(left)


def prose_judge(messages: Messages) -> str:
    """Votes the key with all clues in hand, else the leader."""
    clues = set(re.findall(r"Clue (\d+) of (\d+)", messages[0]["content"]))
    return vote(KEY if clues and len(clues) == int(next(iter(clues))[1]) else LEADER)


def vote(label: str) -> str:
    """A vote for an option."""
    return json.dumps({"vote": label, "rationale": "that is how it looks"})


def scripts(
    write: Callable[[Messages], str], try_out: Callable[[Messages], str] = judge, match: str = "Dress an outline"
) -> tuple[Script, Script]:
    """What a server plays: who writes, and who tries what was written."""
    return Script(match=match, play=write), Script(match="people who have to decide", play=try_out)
