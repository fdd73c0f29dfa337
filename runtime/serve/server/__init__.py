"""What carries the routes: the guard, the sockets, bodies and streams, problems, settings."""
