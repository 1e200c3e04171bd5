"""`harness generate`: calendar tasks by a generator; hidden profiles, or a bank of labels, by a model."""

from __future__ import annotations

from harness.cli.generate.calendar import generate_calendar
from harness.cli.generate.hidden_profile import generate_hidden_profile
from harness.cli.generate.labels import generate_labels
from harness.cli.kinds import kinds

generate_command = kinds()
generate_command.command("calendar")(generate_calendar)
generate_command.command("hidden-profile")(generate_hidden_profile)
generate_command.command("labels")(generate_labels)
