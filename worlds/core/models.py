"""Base classes and number types of the frozen data models: strict and lenient.

Data that the project or its users write is `Strict`: an unknown key is an error, because it is a typo or belongs to another
version. Data that others write, or other versions of the project, is `Lenient`: unknown keys are ignored.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number of a record, within 64 bits: readers divide it, and a float cannot hold a number of 400 digits."""

Count = Annotated[int, Field(ge=0, le=10**9)]
"""Number of occurrences of something in an episode."""

Amount = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
"""A number of dollars, points or shares of a record, bounded so that readers can square and sum it."""

Span = Annotated[float, Field(ge=0, le=1e10, allow_inf_nan=False)]
"""Seconds of a record, bounded so that readers can convert them to dates up to the year 9999."""

SpanMs = Annotated[int, Field(ge=0, le=10**13)]
"""Milliseconds of a record, bounded like `Span`."""


class Strict(BaseModel):
    """Frozen model in which an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Lenient(BaseModel):
    """Frozen model that ignores unknown keys."""

    model_config = ConfigDict(frozen=True, extra="ignore")
