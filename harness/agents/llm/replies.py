"""What models said in episodes, kept in a folder: a plan that is played again asks for nothing that it was told before.

1. A reply is kept by the question and its place: the model, the parameters that were asked for, messages, tools, whether
   chances were wanted, then task, seed, attempt and seat, and how often this conversation had asked just that before. So two
   attempts or seeds that begin alike stay two samples, and seats asked at the same time cannot take each other's reply.
2. Neither a key nor an address is part of it. What was really sent, where a model refuses a parameter, stands in the file.
3. That a conversation is too long, or a reply cannot be read, is kept as well; failures of a provider are not.
4. A kept reply has the tokens that it had, and costs nothing now: budgets count what it cost then, so an episode ends where it
   ended. The first question that is not kept is preceded by the probe that a run without kept replies begins with.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from harness.agents.llm.cache import KeptFiles
from harness.agents.llm.completion import Completion
from harness.agents.llm.failures import ContextFull, UnreadableCall
from harness.agents.llm.model import ModelClient
from worlds.core.models import Strict

_FORM = 2
"""Of a question; raise it where kept replies would no longer be what a model was asked for."""


class ConversationPlace(NamedTuple):
    """Where in a run a conversation is held."""

    task: str
    seed: int
    attempt: int
    seat: int | None = None


class KeptReply(Strict):
    """One file: what a model said, or why it said nothing that can be used."""

    completion: Completion | None = None
    failure: Literal["too long", "unreadable"] | None = None
    why: str = ""
    effective: dict[str, Any] = {}
    """The parameters that were really sent."""


class Interlocutor(Protocol):
    """Whoever can be asked to go on with a conversation."""

    def complete(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = (), *, chances: bool = False
    ) -> Completion:
        """One answer, as `ModelClient.complete` gives it."""
        ...


class Replies:
    """A folder of replies, and how many of a run's questions it answered."""

    def __init__(self, folder: Path, *, probes: bool = True) -> None:
        """`probes`: whether a model is tried with one small call before its first question that is not kept."""
        self.folder, self.probes = folder, probes
        self.kept = self.made = 0
        """Questions that were answered from here, and by models."""

        self._files, self._lock = KeptFiles(folder, KeptReply), threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Replies, (self.folder,)

    def conversation(self, client: ModelClient, place: ConversationPlace) -> Interlocutor:
        """A model's conversation at a place, out of what is kept as far as that goes."""
        return _Remembered(client, place, self)

    def read(self, question: Mapping[str, Any]) -> KeptReply | None:
        """What is kept, counted."""
        kept = self._files.read(question)
        with self._lock:
            self.kept += kept is not None
            self.made += kept is None
        return kept

    def write(self, question: Mapping[str, Any], reply: KeptReply) -> None:
        """Keep a reply; raises UsageError for a folder that cannot be."""
        self._files.write(question, reply)

    def told(self) -> str:
        """How much was kept, in one line."""
        calls = self.kept + self.made
        share = f" ({100 * self.kept / calls:.0f} %)" if calls else ""
        return f"cache: {self.kept} of {calls} model calls{share} answered from {self.folder}, {self.made} made"


class _Remembered:
    """One conversation: it knows what it has asked already, since only the second of two equal questions is the second."""

    def __init__(self, client: ModelClient, place: ConversationPlace, replies: Replies) -> None:
        self._client, self._place, self._replies = client, place, replies
        self._asked: Counter[str] = Counter()

    def complete(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = (), *, chances: bool = False
    ) -> Completion:
        question = {
            "form": _FORM, "model": self._client.settings.name, "parameters": self._client.requested,
            "messages": list(messages), "tools": list(tools), "chances": chances, **self._place._asdict(),
        }  # fmt: skip
        if self._client.settings.context is not None:
            question["context"] = self._client.settings.context
        digest = KeptFiles.digest(question)
        question["before"] = self._asked[digest]
        self._asked[digest] += 1
        reply = self._replies.read(question)
        if reply is None:
            return self._made(question, messages, tools, chances=chances)
        self._client.learn(reply.effective)
        if reply.completion is None:
            raise UnreadableCall(reply.why) if reply.failure == "unreadable" else ContextFull(reply.why)
        return _as_kept(reply.completion)

    def _made(
        self, question: dict[str, Any], messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, chances: bool
    ) -> Completion:
        if self._replies.probes:
            self._client.probe(tools=bool(tools))
        try:
            said = self._client.complete(messages, tools, chances=chances)
        except (ContextFull, UnreadableCall) as failure:
            kind: Literal["too long", "unreadable"] = "unreadable" if isinstance(failure, UnreadableCall) else "too long"
            self._replies.write(question, KeptReply(failure=kind, why=str(failure), effective=self._client.effective))
            raise
        self._replies.write(question, KeptReply(completion=replace(said, waited_s=0.0), effective=self._client.effective))
        return said


def _as_kept(said: Completion) -> Completion:
    """A reply as it is told again: it took these tokens once, and costs nothing now."""
    usage, cost_usd = said.usage, said.usage.cost_usd
    again = replace(usage, kept_calls=1, kept_usd=cost_usd or 0.0, cost_usd=None if cost_usd is None else 0.0)
    return replace(said, usage=again)
