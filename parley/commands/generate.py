"""`harness generate KIND`: tasks, or parts of tasks, by a family's part `commands.generate`."""

from __future__ import annotations

from parley.commands.kinds import kinds

generate_command = kinds("generate", "commands.generate")
