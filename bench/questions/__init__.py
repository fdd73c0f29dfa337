"""Questions over photo albums with their readings, typed by four authors who did not know the rules."""
