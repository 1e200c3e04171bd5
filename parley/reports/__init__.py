"""Reports from run folders: reading, statistics and rendering of tables, whose contents are defined by each family."""

__all__ = [
    "board", "causes", "comparison", "components", "early", "evidence", "figures", "models", "page", "spent", "statistics",
    "svg", "table", "whole",
]  # fmt: skip
