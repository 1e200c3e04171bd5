"""The hidden-profile family on the host: seats, reports, the matrix of a scenario."""
