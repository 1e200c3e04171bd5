"""The commands of the calendar family: kinds of `harness generate` and `harness import`."""
