"""The hidden validator: the session rebuilt from the log, and nothing in it that the rules contradict.

Boilerplate hidden-profile/3, written by `harness sync`: edits here are lost.
"""

from validators.hidden_profile.claims import test_log_is_true
