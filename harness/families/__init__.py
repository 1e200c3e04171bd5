"""What the machine knows of each family: one package each, whose modules are found by name (harness.modules)."""
