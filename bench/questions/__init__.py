"""Questions over photo albums with their readings, typed by six authors who did not know the rules."""
