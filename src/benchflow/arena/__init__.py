"""Two deliverables for one task side by side, blind: what is shown, what is voted, what it says."""
