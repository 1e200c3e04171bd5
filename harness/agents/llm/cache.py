"""Answers kept by what was asked: the same question to the same model is paid for once, today or in another run.

The name of a file is the SHA-256 of the model, the parameters that it takes, and the messages; in it are the answer and what it
cost. A file is written whole or not at all, so any number of processes may share a folder. What cannot be read is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


class CachedModel:
    """A model whose answers are kept in a folder, one for each question; for questions that are asked at temperature 0."""

    def __init__(self, client: ModelClient, folder: Path) -> None:
        self._client, self._folder = client, folder
        self.asked = 0
        """How many questions went to the provider."""

    def is_kept(self, messages: Sequence[dict[str, Any]]) -> bool:
        """Whether the answer is there."""
        return self._read(self._path(messages)) is not None

    def answer(self, messages: Sequence[dict[str, Any]]) -> KeptAnswer:
        """The answer, kept or from the provider; raises ProviderFailure, and UsageError for a folder that cannot be."""
        path = self._path(messages)
        if (kept := self._read(path)) is not None:
            return kept
        said = self._client.complete(messages)
        self.asked += 1
        usage = said.usage
        made = KeptAnswer(
            model=self._client.settings.name, text=said.text, prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens, cost_usd=usage.cost_usd,
        )  # fmt: skip
        self._write(path, made)
        return made

    def _path(self, messages: Sequence[dict[str, Any]]) -> Path:
        question = {"model": self._client.settings.name, "parameters": self._client.effective, "messages": list(messages)}
        digest = hashlib.sha256(json.dumps(question, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"

    def _read(self, path: Path) -> KeptAnswer | None:
        try:
            return KeptAnswer.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None

    def _write(self, path: Path, answer: KeptAnswer) -> None:
        with writing(path):
            make_folder(path.parent)
            whole = path.with_suffix(f".{os.getpid()}-{id(answer)}")
            whole.write_text(answer.model_dump_json(), encoding="utf-8")
            whole.replace(path)
