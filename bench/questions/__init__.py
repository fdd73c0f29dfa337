"""Questions over photo albums with their readings, typed by eight authors who did not know the rules."""
