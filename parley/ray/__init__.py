"""Runs on the nodes of a Ray cluster: the driver holds the plan and the run's folder; each Ray task plays one whole episode."""
