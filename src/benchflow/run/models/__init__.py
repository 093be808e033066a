"""The models of a job: its gateway, the agents behind it, and what providers allow."""
