"""One tree of exceptions; a message names the rule broken, with the value, in one clause.

ParleyError
├── WireError         a request that no HTTP client can send
├── LogError          an event log that is not whole: bad line, broken chain
├── ManifestError     a task's description or a world option that breaks its declared rule
├── WorldError        a world that cannot be built, or that failed while serving
│   └── RealWait      a path operation that waits for real time
└── (harness.errors)  HarnessError and below: what the command line reports, with exit codes
"""

from __future__ import annotations


class ParleyError(Exception):
    """Root of everything this project raises on purpose."""


class WireError(ParleyError, ValueError):
    """A request that no HTTP client can send; the message names the part and the rule."""


class LogError(ParleyError, ValueError):
    """An event log that is not whole; the message names the line."""


class ManifestError(ParleyError, ValueError):
    """A declared rule of a task (option, knob, budget) that a value breaks."""


class WorldError(ParleyError, RuntimeError):
    """A world that cannot be built, or that failed while serving."""


class RealWait(WorldError):
    """A path operation that waits for real time; a world has a clock of its own."""
