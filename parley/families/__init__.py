"""Task families in the harness: one package per family, whose modules are looked up by name (harness.plugins)."""
