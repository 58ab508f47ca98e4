"""structdep."""
