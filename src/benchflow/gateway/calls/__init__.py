"""One call of an agent on its way: what is sent, how often, how fast, and what came back."""
