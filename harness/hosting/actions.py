"""What people do on their pages, as a table: each form says what it does, and everything else is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.hosting.forms import form_of
from harness.hosting.group import PageGroup
from harness.hosting.places import NotTaken, PagePlace

Fields = Mapping[str, str]


class Actions:
    """Carries out the forms of one group."""

    def __init__(self, group: PageGroup, family: str) -> None:
        self._group, self._family = group, family
        self._known: dict[str, Callable[[PagePlace, Fields], object]] = {
            "say": lambda place, fields: group.speak(place, fields.get("said", ""), fields.get("text", "")),
            "finish": lambda place, _: group.leave_chat(place),
            "leave": lambda place, _: group.leave(place),
            "pass": lambda place, fields: group.answer(place, fields.get("turn", ""), ""),
            "reply": self._reply,
            "choose": self._choose,
        }

    def do(self, place: PagePlace, fields: Fields) -> None:
        """What a form asks for; raises NotTaken, with status 422 for what its person can mend."""
        what = fields.get("do", "")
        if what == "join":
            self._group.join(place, fields.get("name", ""))
            return
        if not place.joined:
            raise NotTaken(409, "Sit down first.")
        if what not in self._known:
            raise NotTaken(400, "That is nothing that can be done here.")
        self._known[what](place, fields)

    def _reply(self, place: PagePlace, fields: Fields) -> None:
        if not fields.get("text", "").strip():
            raise NotTaken(422, "Nothing was typed.")
        self._group.answer(place, fields.get("turn", ""), fields["text"])

    def _choose(self, place: PagePlace, fields: Fields) -> None:
        """Answer with what a click means."""
        turn, choice, asked = fields.get("turn", ""), fields.get("choice", ""), place.turn
        form = form_of(self._family, asked) if asked is not None and asked.id == turn else None
        if form is None:
            # the turn is not open, or no vote: the group says which
            self._reply(place, fields)
            return
        if choice not in {value for value, _ in form.choices}:
            raise NotTaken(422, "Nothing was chosen.")
        self._group.answer(place, turn, form.reply(choice, fields.get("text", "").strip()))
