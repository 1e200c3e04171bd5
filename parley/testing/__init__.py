"""Public test kit: a local server with the real interfaces of providers, so that tests need no mocks and no API keys."""
