"""Runs on the nodes of a Ray cluster: the driver has the plan and the folder, and a Ray task is one whole episode."""
