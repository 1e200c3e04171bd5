"""Reports: run folders in, tables out. Reading, statistics and rendering live here; what a table says is a family's own."""

__all__ = [
    "board", "catalogue", "causes", "charts", "comparable", "compare_tables", "comparison", "components", "early", "evidence",
    "models", "page", "power", "reliability", "runs", "spent", "spreadsheets", "statistics", "status", "svg", "table", "whole",
]  # fmt: skip
