"""For task authors: the gates that make a task honest before anyone meets it."""
