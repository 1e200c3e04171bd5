"""How likely a model found each token of its answer, and what it could have written there instead.

Only some providers say it, and only of some models. What is not said is nothing, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import Any, NamedTuple

from pydantic import ValidationError

from worlds.core.models import Lenient

ASKED: Mapping[str, Any] = {"logprobs": True, "top_logprobs": 10}
"""Parameters of a request that asks for it; some providers refuse more alternatives than these."""


class TokenChances(NamedTuple):
    """One token of an answer."""

    text: str
    chances: Mapping[str, float]
    """Token -> its probability at this place, of the likeliest ones and the one that was written."""


class _Alternative(Lenient):
    token: str
    logprob: float


class _Token(_Alternative):
    top_logprobs: tuple[_Alternative, ...] | None = None


class _Logprobs(Lenient):
    content: tuple[_Token, ...] | None = None


def read_chances(given: Any) -> tuple[TokenChances, ...]:
    """The tokens in the `logprobs` of a LiteLLM response in order; none where the provider said nothing that can be read."""
    try:
        content = _Logprobs.model_validate(given or {}, from_attributes=True).content or ()
    except ValidationError:
        return ()
    return tuple(
        TokenChances(one.token, {alike.token: exp(min(alike.logprob, 0.0)) for alike in (*(one.top_logprobs or ()), one)})
        for one in content
    )
