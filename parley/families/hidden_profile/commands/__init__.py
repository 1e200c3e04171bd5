"""The commands of the hidden-profile family: kinds of `harness generate` and `harness import`."""
