"""The verifier's own program: runs the checks of a task and writes reward and evidence."""
