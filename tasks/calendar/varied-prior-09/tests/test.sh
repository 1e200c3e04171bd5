#!/bin/bash
# Boilerplate calendar/2, written by `harness sync`: edits here are lost.
mkdir -p /logs/verifier
echo '{"reward": 0.0}' > /logs/verifier/reward.json
python3 -m pytest -q -p validators.plugin -p no:cacheprovider /tests/test_outcome.py
