"""A run played by the nodes of a Ray cluster: the driver has its plan and its folder, a task of Ray is one whole episode."""

__all__ = ["site"]
