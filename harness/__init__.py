"""The host side: registry, runtimes, agents, episodes, runs, records and the command line."""
