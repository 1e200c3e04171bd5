#!/bin/bash
# Boilerplate hidden-profile/1, written by `harness sync`: edits here are lost.
exec python3 "$(dirname "$0")/play.py" "$@"
