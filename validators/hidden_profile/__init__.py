"""The hidden-profile family's validator: from an event log to votes, what was pooled, what was heard, and the reward."""

from validators.hidden_profile.verdict import assess

__all__ = ["assess"]
