"""Base class of all contract worlds: one artifact to submit, judged by digest, and the label for a wrong one."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from worlds.contract.anchors import SLICE, TAIL, Anchor, draw_anchor, draw_range
from worlds.contract.contracts import Contract, make_contract
from worlds.contract.labels import Label
from worlds.contract.mangling import mangled
from worlds.contract.presigned import Presigned
from worlds.core.calls import Call, Reply, Violation
from worlds.core.events import EventLog
from worlds.core.world import World, WorldSetup


class ContractWorld(World):
    """World whose goal is a submission of exactly the bytes of `deliverable`, once these exist."""

    anchor: Anchor
    range: tuple[int, int]
    """Range of the anchor's slice that requests carry: first and last character, 1-indexed and inclusive."""
    deliverable: bytes | None = None
    """The expected submission; None until the last step has returned it."""

    def __init__(self, setup: WorldSetup, log: EventLog) -> None:
        self._values: dict[str, bytes] = {}
        super().__init__(setup, log)

    def draw_slice(self, length: int = 384, count: int = SLICE) -> None:
        """Draw the anchor and the range of its slice."""
        self.anchor = draw_anchor(self.chance("anchor"), length)
        self.range = draw_range(self.chance("range"), self.anchor, count)

    @property
    def slice(self) -> str:
        """The characters of the anchor that requests must carry."""
        return self.anchor.chars(*self.range)

    def slice_facts(self) -> dict[str, object]:
        """Return the instruction's variables on anchor and proofs: `anchor`, `first`, `last`, `tail_chars`."""
        return {"anchor": self.anchor.text, "first": self.range[0], "last": self.range[1], "tail_chars": TAIL}

    def knob_ms(self, name: str) -> int:
        """Return a knob that is given in s, in virtual ms."""
        return round(self.knob(name) * 1000)

    def judge_submission(self, call: Call) -> Reply:
        """Return the goal for exactly the deliverable's bytes; raises WRONG_VALUE for anything else, or if it is too early."""
        if self.deliverable is None or not _same(call.body, self.deliverable):
            raise Violation(Label.WRONG_VALUE, "the submission is not the result", field="submission")
        return Reply({"accepted": True}, kind="goal")

    def issue(self, contract_id: str, value: str | bytes, ttl_ms: int) -> Contract:
        """Return a contract on `value` from now and record it in this request's event; `ttl_ms` in virtual ms."""
        raw = value.encode() if isinstance(value, str) else value
        made = make_contract(contract_id, raw, self.now, ttl_ms)
        self._values[contract_id] = raw
        self.issued(contract_id, made.expires_at)
        return made

    def redeem(
        self, made: Contract, value: object, what: str, *, missing: Label = Label.MISSING_TOKEN, ended: str = "has expired"
    ) -> None:
        """Check a token that stands for a contract: present, then in its window, then byte for byte.

        Raises `missing`, EXPIRED_BEFORE_USE or MUTATED_TOKEN; `what` names the field for the caller, `ended` says how it ended.
        """
        self.used(made.contract_id)
        if value is None or value == "":
            raise Violation(missing, f"{what} is missing", field=what)
        expected = self._values[made.contract_id]
        given = value if isinstance(value, str) else repr(value)
        broken = mangled(made.contract_id, expected, given.encode("latin-1", "replace"), f"{what} is not as issued")
        made.judge(self.now, broken, f"{what} {ended}")

    def follow(self, link: Presigned, call: Call) -> None:
        """Check the use of a presigned link: in its window, then byte for byte."""
        self.used(link.resource_id)
        link.check(call.request, self.now)


def compact(value: Any) -> bytes:
    """Return JSON as the worlds write it: compact, UTF-8, keys in the given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _same(given: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(hashlib.sha256(given).digest(), hashlib.sha256(expected).digest())
