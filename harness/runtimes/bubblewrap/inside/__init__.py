"""What runs as PID 1 of a sandbox: plain Python without packages, seen there below /opt/parley by the same name."""

__all__ = ["forks", "init", "template"]
