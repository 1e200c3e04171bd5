"""Answers kept by what was asked: the same question to the same model is paid for once, today or in another run.

The name of a file is the SHA-256 of what was asked: for a judge, the model, the parameters that it takes, and the messages. In
it are the answer and what it cost. Replies in episodes are kept likewise (`harness.agents.llm.replies`). A file is written
whole or not at all, so any number of processes may share a folder. What cannot be read is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from harness.agents.llm.model import ModelClient
from harness.writing import make_folder, writing
from worlds.core.models import Strict


class KeptAnswer(Strict):
    """One file of the cache."""

    model: str
    text: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


ModelT = TypeVar("ModelT", bound=Strict)


class KeptFiles(Generic[ModelT]):
    """A folder of answers by what was asked, safe for any number of threads and processes."""

    def __init__(self, folder: Path, kind: type[ModelT]) -> None:
        self._folder, self._kind = folder, kind

    @staticmethod
    def digest(question: Mapping[str, Any]) -> str:
        """The SHA-256 of a question, whatever the order of its fields."""
        return hashlib.sha256(json.dumps(question, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def read(self, question: Mapping[str, Any]) -> ModelT | None:
        """What is kept; None where nothing is, or nothing that can be read."""
        try:
            return self._kind.model_validate_json(self._path(question).read_bytes())
        except (OSError, ValidationError):
            return None

    def write(self, question: Mapping[str, Any], answer: ModelT) -> None:
        """Keep an answer, whole or not at all; raises UsageError for a folder that cannot be."""
        path = self._path(question)
        with writing(path):
            make_folder(path.parent)
            whole = path.with_suffix(f".{os.getpid()}-{id(answer)}")
            whole.write_text(answer.model_dump_json(), encoding="utf-8")
            whole.replace(path)

    def _path(self, question: Mapping[str, Any]) -> Path:
        digest = self.digest(question)
        return self._folder / digest[:2] / f"{digest}.json"


class CachedModel:
    """A model whose answers are kept in a folder, one for each question; for questions that are asked at temperature 0."""

    def __init__(self, client: ModelClient, folder: Path) -> None:
        self._client, self._files = client, KeptFiles(folder, KeptAnswer)
        self.asked = 0
        """How many questions went to the provider."""

    def is_kept(self, messages: Sequence[dict[str, Any]]) -> bool:
        """Whether the answer is there."""
        return self._files.read(self._question(messages)) is not None

    def answer(self, messages: Sequence[dict[str, Any]]) -> KeptAnswer:
        """The answer, kept or from the provider; raises ProviderFailure, and UsageError for a folder that cannot be."""
        question = self._question(messages)
        if (kept := self._files.read(question)) is not None:
            return kept
        said = self._client.complete(messages)
        self.asked += 1
        usage = said.usage
        made = KeptAnswer(
            model=self._client.settings.name, text=said.text, prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens, cost_usd=usage.cost_usd,
        )  # fmt: skip
        self._files.write(question, made)
        return made

    def _question(self, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {"model": self._client.settings.name, "parameters": self._client.effective, "messages": list(messages)}
