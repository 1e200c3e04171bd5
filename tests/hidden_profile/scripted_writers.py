"""Models that make tasks and try them, as functions of the conversation: a writer that dresses outlines, a judge that adds up.

Every text that the writer makes says which of how many clues it is, so the judge can tell a whole hand from a part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from harness.testing.scripts import Script

Messages = Sequence[dict[str, Any]]

LABELS = ("Alder", "Birch", "Cedar", "Dogwood", "Elder", "Fir")
KEY, DECOY = "Kestrel", "Dormouse"


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
    document |= {"title": "Birds and mice", "domain": "a wood", "brief": "Exactly one animal will do. " * 3}
    for option, label in zip(document["options"], LABELS, strict=False):
        option["label"] = {document["key"]: KEY, document["decoy"]: DECOY}.get(option["id"], label)
    for name, atom in document["atoms"].items():
        atom["gloss"] = f"the matter {name} holds"
    clues = [fact["id"] for fact in document["facts"] if fact["scope"] == "private"]
    for fact in document["facts"]:
        place = f" Clue {clues.index(fact['id']) + 1} of {len(clues)}." if fact["id"] in clues else ""
        fact["text"] = f"The note <{fact['id']}> lay under stone <{fact['id']}>.{place}"
        if "cues" in fact:
            fact["cues"] = [[f"note <{fact['id']}>"], [f"stone <{fact['id']}>"]]
    return document


def fields(people: int, **changes: Any) -> dict[str, Any]:
    """A task in the published fields."""
    return {
        "rationale": "The answer is the kestrel, by a table that nobody may see.",
        "name": "birds_and_mice",
        "description": "Exactly one animal will do.",
        "shared_information": ["Everybody likes dormice."],
        "hidden_information": [f"The stone was warm. Clue {place} of {people}." for place in range(1, people + 1)],
        "possible_answers": [DECOY, KEY, LABELS[0]],
        "correct_answer": KEY,
        **changes,
    }


def judge(messages: Messages) -> str:
    """Votes the key with all clues in hand, else the decoy."""
    return vote(KEY if all_clues(messages) else DECOY)


def all_clues(messages: Messages) -> bool:
    """Whether a seat's rules hold every clue there is."""
    clues = set(re.findall(r"Clue (\d+) of (\d+)", messages[0]["content"]))
    return bool(clues) and len(clues) == int(next(iter(clues))[1])


def vote(label: str) -> str:
    """A vote for an option."""
    return json.dumps({"vote": label, "rationale": "that is how it looks"})


def scripts(
    write: Callable[[Messages], str], try_out: Callable[[Messages], str] = judge, match: str = "Dress an outline"
) -> tuple[Script, Script]:
    """What a server plays: who writes, and who tries what was written."""
    return Script(match=match, play=write), Script(match="people who have to decide", play=try_out)
