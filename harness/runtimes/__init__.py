"""Where episodes run: Docker, bubblewrap, or this very process."""

__all__ = ["bubblewrap", "docker", "inprocess", "judging", "owner"]
