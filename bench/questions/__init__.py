"""Questions over photo albums with their readings, typed by seven authors who did not know the rules."""
