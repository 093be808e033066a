"""How far jobs and sweeps are while they run, read from their files."""
