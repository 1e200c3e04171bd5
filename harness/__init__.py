"""The machine on the host: registry, runtimes, agents, one episode, a run, records, the command line."""
