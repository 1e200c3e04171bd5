"""`harness generate KIND`: tasks, or parts of tasks, from what a family brings for it (`commands.generate`)."""

from __future__ import annotations

from harness.cli.kinds import kinds

generate_command = kinds("generate", "commands.generate")
