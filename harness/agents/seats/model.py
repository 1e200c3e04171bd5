"""Model at a seat: a conversation with the seat's own rules and turns.

1. For turns that only measure, a family may compute the reply from token probabilities: its module `weighing` has the function,
and the probabilities are requested from the model.
2. A conversation longer than the model's context forfeits the turn as `context`; a reply that cannot be parsed forfeits it as
`malformed`. After `context`, a conversation of at least that length is forfeited without a call.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.agent import Usage
from harness.agents.llm.completion import Completion, add_usage, as_text
from harness.agents.llm.failures import ContextOverflow, MalformedToolCall
from harness.agents.llm.model import ModelClient
from harness.agents.llm.response_cache import Interlocutor
from harness.agents.seats.holders import Forfeit, SeatReply, TalkingSeat
from harness.agents.trajectory import Trajectory
from harness.errors import SetupFault
from harness.plugins import family_part_or_none
from harness.records import VariantRef
from worlds.core.replies import ends_within_json, without_thinking
from worlds.core.turns import OpenTurn

MOST_CUT_OFF = 3
"""Number of truncated, unusable replies at the start of a seat's game after which the set-up is at fault."""

Weigher = Callable[[Completion], str]
"""Function that computes a reply from a model's completion and its token probabilities."""


def weigher_of(family: str, session: Mapping[str, Any]) -> Weigher | None:
    """Return the function of the family's part `weighing` for a session; None if no answers are weighed."""
    module = family_part_or_none(family, "expected_belief")
    weigher: Weigher | None = module.weigher(session) if module else None
    return weigher


NO_CALL = "no shorter than a conversation that did not fit, so the model was not called"
"""Message in agent.log about a turn that is forfeited without a call."""


def _size(messages: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(messages, default=str))


class ModelSeat(TalkingSeat):
    """Seat with its model, its conversation and their record."""

    kind = "model"
    beside = True
    client: ModelClient

    def __init__(
        self,
        seat: int,
        client: ModelClient,
        rules: str,
        trajectory: Trajectory | None = None,
        variant: VariantRef | None = None,
        weigher: Weigher | None = None,
        conversation: Interlocutor | None = None,
    ) -> None:
        """Create the seat; `variant` names what was appended to the rules, and `weigher` answers turns that only measure.

        `conversation` replaces `client` if some replies are cached.
        """
        super().__init__(seat, client.name, rules, trajectory)
        self._asked: Interlocutor = conversation or client
        self.client, self.usage = client, Usage()
        self._variant, self._weigher = variant, weigher
        self._too_long: int | None = None
        """Number of characters of the shortest conversation that did not fit the model's context."""
        self._replies = self._cut_off = 0

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return the model's answer; raises ProviderFailure and Cancelled."""
        asked, weigher = time.monotonic(), self._weigher if turn.ephemeral else None
        messages = self.before(turn)
        if self._too_long is not None and _size(messages) >= self._too_long:
            return Forfeit("context", NO_CALL)
        try:
            said = as_text(self._asked.complete(messages, chances=weigher is not None), named=False)
        except ContextOverflow as full:
            self._too_long = _size(messages)
            return Forfeit("context", str(full), full.waited_s)
        except MalformedToolCall as error:
            return Forfeit("malformed", str(error))
        self._note_cut_off(said)
        return SeatReply(weigher(said) if weigher else said.text, said, time.monotonic() - asked - said.waited_s)

    def _note_cut_off(self, said: Completion) -> None:
        """Count a reply; raises SetupFault if the first MOST_CUT_OFF replies were all truncated and unusable."""
        self._replies += 1
        self._cut_off += said.cut_off and (not without_thinking(said.text).strip() or ends_within_json(said.text))
        if self._cut_off == self._replies >= MOST_CUT_OFF:
            where = f"the first {self._replies} replies of seat {self.seat}"
            told = f"{where} were cut off before anything could be read; raise --reply-tokens"
            raise SetupFault(told, "always_cut_off", hint="--reply-tokens N, larger than before")

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Record the answer with its usage, and add it to the conversation if the turn belongs there."""
        super().keep(turn, reply)
        self.latencies_s.append(round(reply.latency_s, 4))
        if reply.completion is not None:
            add_usage(self.usage, reply.completion.usage)

    def told(self) -> dict[str, Any]:
        """Return the fields of the seat's record, with the model's tokens and cost."""
        spent = {"tokens": self.usage.tokens(), "cost_usd": self.usage.cost_usd}
        return {**super().told(), **spent, "model": self.name, "effective": self.client.effective, "variant": self._variant}
