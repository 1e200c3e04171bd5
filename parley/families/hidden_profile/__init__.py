"""The hidden-profile family in the harness: seats, reports, the fact matrix of a scenario."""
