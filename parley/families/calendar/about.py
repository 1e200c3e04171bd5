"""Summary of this family for catalogues of tasks, in one line."""

LINE = "Agents with private calendars schedule meetings by talking; judged by what the moves cost"
