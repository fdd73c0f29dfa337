"""The bundle: made by worker processes, written aside, renamed when whole."""
