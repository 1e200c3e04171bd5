"""Privacy losses of calendars: by typed messages as their protocols define them, and as a judge reads all deliveries."""
