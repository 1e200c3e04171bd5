"""World of the calendar family: private calendars, a stream of meetings, talk in sweeps, simultaneous decisions."""
