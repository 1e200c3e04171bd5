#!/bin/bash
# Boilerplate hidden-profile/3, written by `harness sync`: edits here are lost.
# Only the verifier's image can judge. On another machine this fails before there is a reward: an error, never a zero.
rm -f /logs/verifier/reward.json /logs/verifier/reward.txt
why=$(python3 -c 'import os, validators; os.stat(validators.__path__[0] + "/plugin.py")' 2>&1) || {
    echo "nothing is judged, this is not the verifier's image: ${why##*$'\n'}" >&2
    exit 2
}
mkdir -p /logs/verifier
echo '{"reward": 0.0}' > /logs/verifier/reward.json
python3 -m pytest -q -p validators.plugin -p no:cacheprovider /tests/test_outcome.py
