"""What was told of calendars: by typed messages as their protocols mean it, and as a judge reads all that was delivered."""
