"""How an episode ended: the part of a result that says what came of it, what stopped it, and who is responsible."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import model_validator

from harness.causes import CAUSES, CauseName, Responsible, cause_of_old_record
from validators.verdict import UNEXPLAINED
from worlds.core.models import Strict


class Forfeits(Strict):
    """Turns that one seat of a game gave up for one reason."""

    seat: int
    """From 0."""

    cause: str
    """A key of `harness.causes.FORFEITS`."""

    count: int


class EpisodeEnding(Strict):
    """What came of an episode, and why."""

    status: Literal["graded", "ungraded"]
    cause: Responsible | None = None
    """Who is responsible for the failure that ended it; None where nothing failed."""

    error: str | None = None
    may_pass: bool = False
    """Whether what failed may pass by itself, so that the episode is worth another try."""

    success: bool = False
    failure_label: str | None = None
    failure_detail: dict[str, Any] = {}
    stopped_by: str | None = None
    """The budget that ended it: wall, turns, tokens, cost, context, or steps, virtual_time, request_cap, which worlds count."""

    ended_by: CauseName | None = None
    """The row of `harness.causes.CAUSES` that ended it; None where the agent finished. Derived for records that lack it."""

    disturbed: dict[CauseName, int] = {}
    """How often each row disturbed it without ending it."""

    forfeits: tuple[Forfeits, ...] = ()
    """Of a game: the turns that seats gave up, by seat and cause; empty in records of versions that did not count them."""

    @model_validator(mode="after")
    def _named(self) -> Self:
        """Name the row that ended an episode whose record was written before rows were named."""
        if self.ended_by is None and (self.cause or self.stopped_by):
            old = cause_of_old_record(self.cause, self.stopped_by, may_pass=self.may_pass)
            self.__dict__["ended_by"] = old  # the model is frozen, and this is the last step of making it
        return self

    @property
    def stopped(self) -> str:
        """What ended it, in the words of the table of causes; "" where the agent finished.

        An agent that ended by itself after it had broken a rule was not stopped: its label says why it failed.
        """
        is_explained = self.status == "graded" and self.failure_label != UNEXPLAINED and "reason" not in self.failure_detail
        if self.ended_by is None or (is_explained and self.ended_by in {"agent_error", "no_action"}):
            return ""
        return CAUSES[self.ended_by].message

    @property
    def why_ungraded(self) -> str:
        """Who is responsible for an ungraded episode, and what ended it: `provider: the provider returned an error (500)`."""
        message, error = CAUSES[self.ended_by].message if self.ended_by else "unknown", self.error or ""
        told = error if error.startswith(message) else f"{message} ({error})" if error else message
        return f"{self.cause}: {told}"

    @property
    def outcome(self) -> str:
        """What came of it: its label, after what stopped it where something did; why it is ungraded."""
        if self.status == "ungraded":
            return f"ungraded, {self.why_ungraded}"
        label = self.failure_label or "-"
        return f"stopped: {self.stopped} ({label})" if self.stopped and not self.success else label
