#!/bin/bash
# Boilerplate hidden-profile/1, written by `harness sync`: edits here are lost.
# Reward 0 stands first. The plugin replaces it once, at the end of the session, and writes verdict.json beside it.
mkdir -p /logs/verifier
echo '{"reward": 0.0}' > /logs/verifier/reward.json
python3 -m pytest -q -p validators.plugin -p no:cacheprovider /tests/test_outcome.py
