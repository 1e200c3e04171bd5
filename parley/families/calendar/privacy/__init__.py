"""Privacy losses of calendars: by the protocols' definition for typed messages, and by a judge model for all messages."""
