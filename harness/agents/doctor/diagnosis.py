"""The result of an examination: a row for each check, and the flags of `harness run` that follow from them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from harness.agents.llm.provider import public_address

Verdict = Literal["yes", "no", "note", "not tried"]
"""`note`: it works in another way than usual, which a run allows for, or it does not matter to a run."""


class Row(NamedTuple):
    """One check."""

    check: str
    verdict: Verdict
    seen: str
    advice: str = ""
    """What to do; empty where there is nothing to do."""


@dataclass
class Diagnosis:
    """What is known of one model at one server."""

    model: str
    api_base: str | None
    rows: list[Row] = field(default_factory=list)
    flags: dict[str, Any] = field(default_factory=dict)
    """Flags of `harness run`, without dashes in front, beside the model and its address."""

    unusable: str = ""
    """Why no run can work; empty where one can."""

    def add(self, check: str, verdict: Verdict, seen: str, advice: str = "", **flags: Any) -> None:
        """Add a row, and the flags that it asks for."""
        self.flags |= {name.replace("_", "-"): value for name, value in flags.items()}
        self.rows.append(Row(check, verdict, seen, advice or " ".join(_typed(flags))))

    def rule_out(self, check: str, seen: str, advice: str) -> None:
        """Add the row of a fault that no flag helps against."""
        self.unusable = self.unusable or seen
        self.rows.append(Row(check, "no", seen, advice))

    @property
    def settings(self) -> dict[str, Any]:
        """The model, its address and the flags, as a file of settings has them."""
        address = {} if self.api_base is None else {"api-base": public_address(self.api_base)}
        return {"model": self.model, **address, **self.flags}

    @property
    def command(self) -> str:
        """A run of one small task with all flags."""
        return shlex.join(["harness", "run", "presigned-url-download", "--interface", "tool", *_typed(self.settings)])


def _typed(flags: dict[str, Any]) -> list[str]:
    return [word for name, value in flags.items() for word in (f"--{name}".replace("_", "-"), f"{value}")]
