"""The two kinds of data that cross rooms or lie in files, both frozen: strict, and lenient.

What we write ourselves, or what a person writes for us, is `Strict`: a key that nobody knows is an error, since it is a typing
mistake or another version. What others write, or other versions of ours, is `Lenient`: we take what we know and leave the rest.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen model in which an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Lenient(BaseModel):
    """A frozen model that leaves out what it does not know."""

    model_config = ConfigDict(frozen=True, extra="ignore")
