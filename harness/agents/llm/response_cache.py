"""On-disk cache of model replies (docs/running.md). An equal request is paid for only once, within a run and across runs.

1. A file is named after the SHA-256 of the request (the question), without API key and address. An unreadable file is a
miss.
2. The key of a reply in an episode consists of the request and its place (`ResponseCache`), including how many equal requests
this conversation has made before. So two attempts or seeds with the same first request stay two samples, and seats asked
concurrently cannot swap replies.
3. A cached reply keeps its tokens and costs nothing now. Budgets count its original cost, so an episode ends at the same
point.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import ValidationError, field_validator

from harness.agents.llm.completion import Completion
from harness.agents.llm.failures import ContextOverflow, MalformedToolCall
from harness.agents.llm.model import Messages, ModelClient
from harness.atomic_write import make_folder, writing
from harness.limits import RESULT_BYTES
from harness.safe_read import read_given
from worlds.core.models import Strict

_FORM = 2
"""Version of the question format; raise it when cached replies no longer match the requests."""

MOST_USED = 1e9
"""Maximum tokens or dollars of one reply."""


class CachedAnswer(Strict):
    """Cached reply of a judge."""

    model: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


class CachedReply(Strict):
    """Cached reply of a model in an episode, or the reason why the reply was unusable."""

    completion: Completion | None = None
    failure: Literal["too long", "unreadable"] | None = None
    why: str = ""
    effective: dict[str, Any] = {}
    """Parameters that were actually sent."""

    @field_validator("completion")
    @classmethod
    def _is_plausible(cls, said: Completion | None) -> Completion | None:
        """Raise ValueError for implausible tokens or dollars, with which an untrusted folder could disable a budget."""
        numbers = [one for one in vars(said.usage).values() if one is not None] if said else []
        if not all(0 <= one <= MOST_USED for one in numbers):
            raise ValueError(f"tokens and dollars lie in 0..{MOST_USED:g}")
        return said


class ConversationPlace(NamedTuple):
    """Place of a conversation in a run."""

    task: str
    seed: int
    attempt: int
    seat: int | None = None


KeptT = TypeVar("KeptT", bound=Strict)


class CacheFiles(Generic[KeptT]):
    """Folder of replies by question, safe for any number of threads and processes."""

    def __init__(self, folder: Path, kind: type[KeptT]) -> None:
        self.folder, self._kind = folder, kind

    @staticmethod
    def digest(question: Mapping[str, Any]) -> str:
        """Return the SHA-256 of a question, independent of the order of its fields."""
        return hashlib.sha256(json.dumps(question, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def read(self, question: Mapping[str, Any]) -> KeptT | None:
        """Return the cached reply; None if there is none, or it cannot be parsed."""
        try:
            return self._kind.model_validate_json(read_given(self._path(question), RESULT_BYTES))
        except (OSError, ValidationError):
            return None

    def write(self, question: Mapping[str, Any], answer: KeptT) -> None:
        """Write a reply atomically; raises UsageError if the folder is unusable."""
        path = self._path(question)
        with writing(path):
            make_folder(path.parent)
            whole = path.with_suffix(f".{os.getpid()}-{id(answer)}")
            whole.write_text(answer.model_dump_json(), encoding="utf-8")
            whole.replace(path)

    def _path(self, question: Mapping[str, Any]) -> Path:
        digest = self.digest(question)
        return self.folder / digest[:2] / f"{digest}.json"


class CachedModel:
    """Model with an on-disk cache of replies, one per question; for questions at temperature 0."""

    def __init__(self, client: ModelClient, folder: Path) -> None:
        self._client, self._files = client, CacheFiles(folder, CachedAnswer)
        self.asked = 0
        """Number of questions sent to the provider."""

    def is_kept(self, messages: Messages) -> bool:
        """Return True if the reply is cached."""
        return self._files.read(self._question(messages)) is not None

    def answer(self, messages: Messages) -> CachedAnswer:
        """Return the reply from the cache or the provider; raises ProviderFailure, and UsageError if the folder is unusable."""
        question = self._question(messages)
        if (kept := self._files.read(question)) is not None:
            return kept
        said = self._client.complete(messages)
        self.asked += 1
        usage = said.usage
        made = CachedAnswer(
            model=self._client.name, text=said.text, prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens, cost_usd=usage.cost_usd,
        )  # fmt: skip
        self._files.write(question, made)
        return made

    def _question(self, messages: Messages) -> dict[str, Any]:
        return {"model": self._client.name, "parameters": self._client.effective, "messages": list(messages)}


class ResponseCache(CacheFiles[CachedReply]):
    """Cache of replies, with the number of hits in this run."""

    def __init__(self, folder: Path, *, probes: bool = True) -> None:
        """Open the cache. With `probes`, a small call tests each model at its first cache miss."""
        super().__init__(folder, CachedReply)
        self.probes, self.kept, self.made, self._lock = probes, 0, 0, threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return ResponseCache, (self.folder,)

    def conversation(self, client: ModelClient, place: ConversationPlace) -> Interlocutor:
        """Return a model's conversation at a place, answered from the cache as far as possible."""
        return CachedConversation(client, place, self)

    def read(self, question: Mapping[str, Any]) -> CachedReply | None:
        """Return the cached reply, and count it."""
        kept = super().read(question)
        with self._lock:
            self.kept += kept is not None
            self.made += kept is None
        return kept

    def told(self) -> str:
        """Return the number of cache hits, in one line."""
        calls = self.kept + self.made
        share = f" ({100 * self.kept / calls:.0f} %)" if calls else ""
        return f"cache: {self.kept} of {calls} model calls{share} answered from {self.folder}, {self.made} made"


class CachedConversation:
    """Conversation with the number of times that each question was asked, which distinguishes equal questions."""

    def __init__(self, client: ModelClient, place: ConversationPlace, replies: ResponseCache) -> None:
        self._client, self._place, self._replies = client, place, replies
        self._asked: Counter[str] = Counter()

    def complete(self, messages: Messages, tools: Messages = (), *, chances: bool = False) -> Completion:
        """Return one reply, as `ModelClient.complete` does."""
        settings = self._client.settings
        question = {
            "form": _FORM, "model": settings.name, "parameters": self._client.requested, "messages": list(messages),
            "tools": list(tools), "chances": chances, **self._place._asdict(),
            **({} if settings.context is None else {"context": settings.context}),
        }  # fmt: skip
        digest = CacheFiles.digest(question)
        question["before"] = self._asked[digest]
        self._asked[digest] += 1
        reply = self._replies.read(question)
        if reply is None:
            return self._made(question, messages, tools, chances=chances)
        self._client.quirks.learn(reply.effective)
        if reply.completion is None:
            raise MalformedToolCall(reply.why) if reply.failure == "unreadable" else ContextOverflow(reply.why)
        # the cached reply once used these tokens, but costs nothing now
        usage, cost_usd = reply.completion.usage, reply.completion.usage.cost_usd
        again = replace(usage, kept_calls=1, kept_usd=cost_usd or 0.0, cost_usd=None if cost_usd is None else 0.0)
        return replace(reply.completion, usage=again)

    def _made(self, question: dict[str, Any], messages: Messages, tools: Messages, *, chances: bool) -> Completion:
        if self._replies.probes:
            self._client.probe(tools=bool(tools))
        try:
            said = self._client.complete(messages, tools, chances=chances)
        except (ContextOverflow, MalformedToolCall) as failure:
            why = "unreadable" if isinstance(failure, MalformedToolCall) else "too long"
            self._keep(question, failure=why, why=str(failure))
            raise
        self._keep(question, completion=replace(said, waited_s=0.0))
        return said

    def _keep(self, question: Mapping[str, Any], **fields: Any) -> None:
        self._replies.write(question, CachedReply(**fields, effective=self._client.effective))


Interlocutor = ModelClient | CachedConversation
"""Client or cached conversation that can continue a conversation."""
