"""Reports: run folders in, tables out. Reading, statistics and rendering live here; what a table says is a family's own."""

__all__ = [
    "board", "causes", "comparison", "components", "early", "evidence", "figures", "models", "page", "spent", "statistics",
    "svg", "table", "whole",
]  # fmt: skip
