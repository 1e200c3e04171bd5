"""Reports: run folders in, tables out. Reading, statistics and rendering live here; what a table says is a family's own."""

__all__ = [
    "catalogue", "charts", "evidence", "models", "page", "runs", "spent", "spreadsheets", "statistics", "status", "svg",
    "table", "whole",
]  # fmt: skip
