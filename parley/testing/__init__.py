"""Public test kit of the harness: the real interfaces, served locally, so that tests need no mocks and no API keys."""
