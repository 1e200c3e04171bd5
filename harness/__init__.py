"""Host side of the project: registry, runtimes, agents, episodes, runs, records and the command line."""
