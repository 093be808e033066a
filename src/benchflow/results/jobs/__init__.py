"""What lies in a job's folder, read back: trials, verdicts, ladders, and how far each is."""
