"""The harness's public test kit: the real seams, played locally, so that nobody needs a mock or a key."""
