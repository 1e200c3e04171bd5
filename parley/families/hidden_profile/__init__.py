"""The hidden-profile family in the harness: seats, reports, the matrix of a scenario."""
