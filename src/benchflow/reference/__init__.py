"""Pages that are made of what the code and the tasks know: `python -m benchflow.reference`."""
