"""Our runs and our seats inside other programs: what their viewers open, and an agent of ours that their runner starts."""

__all__ = ["atif", "harbor_job", "inspect_log", "scout"]
