"""What phones will do: this machine's measurements carried over to profiles of phones."""
