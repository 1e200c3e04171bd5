"""Where episodes run: Docker, bubblewrap, or this very process."""
