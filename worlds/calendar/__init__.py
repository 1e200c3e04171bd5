"""The calendar family's world: private calendars, a stream of meetings, talk in sweeps, decisions that commit together."""
