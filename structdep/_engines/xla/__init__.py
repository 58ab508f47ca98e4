"""Charts filled by programs of XLA, in any semiring and on any device."""
