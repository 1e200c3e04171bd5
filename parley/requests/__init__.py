"""Optional parts of the request of a run: retries with hints, templates, teams, prompt variants."""
