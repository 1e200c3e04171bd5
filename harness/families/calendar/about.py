"""What this family measures, in the line that catalogues of tasks show."""

LINE = "Agents with private calendars schedule meetings by talking; judged by what the moves cost"
