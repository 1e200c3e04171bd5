"""The two kinds of data that cross rooms or lie in files, both frozen: strict, and lenient.

What we write ourselves, or what a person writes for us, is `Strict`: a key that nobody knows is an error, since it is a typing
mistake or another version. What others write, or other versions of ours, is `Lenient`: we take what we know and leave the rest.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number of a record: readers divide it, and a float holds no number of 400 digits."""

Count = Annotated[int, Field(ge=0, le=10**9)]
"""How many of something an episode had."""

Amount = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
"""A number of dollars, points or shares of a record: readers square it and add it up."""

Span = Annotated[float, Field(ge=0, le=1e10, allow_inf_nan=False)]
"""Seconds of a record: readers make dates of them, and the last year is 9999."""

SpanMs = Annotated[int, Field(ge=0, le=10**13)]
"""Milliseconds of a record, likewise."""


class Strict(BaseModel):
    """A frozen model in which an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Lenient(BaseModel):
    """A frozen model that leaves out what it does not know."""

    model_config = ConfigDict(frozen=True, extra="ignore")
