"""Hierarchy of exceptions; each message names the broken rule, with the value, in one clause.

ParleyError
├── WireError         a request that no HTTP client can send
├── LogError          an invalid event log: malformed line, broken chain
├── ManifestError     a task description or a world option that breaks its declared rule
├── WorldError        a world that cannot be built, or that failed while serving
│   └── RealWait      a path operation that waits for real time
└── (harness.errors)  HarnessError and its subclasses: errors of the command line, with exit codes
"""

from __future__ import annotations


class ParleyError(Exception):
    """Base class of all exceptions of this project."""


class WireError(ParleyError, ValueError):
    """A request that no HTTP client can send; the message names the part and the rule."""


class LogError(ParleyError, ValueError):
    """An invalid event log; the message names the line."""


class ManifestError(ParleyError, ValueError):
    """A value that breaks a declared rule of a task (option, knob, budget)."""


class WorldError(ParleyError, RuntimeError):
    """A world that cannot be built, or that failed while serving."""


class RealWait(WorldError):
    """A path operation that waits for real time, although a world has its own clock."""
