"""The parts of each task family in the harness: one package each, with modules looked up by name (harness.plugins)."""
