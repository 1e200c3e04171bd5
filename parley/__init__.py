"""Everything beside the harness: families, proofs, reports, hosting, formats of other programs, training loops."""
