"""`harness verify --mutants`: mutation testing of servers, hidden tests and shared rules."""
