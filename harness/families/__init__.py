"""What the machine knows of one family: reports, seats, audits. One package each, found by name."""
