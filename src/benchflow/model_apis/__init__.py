"""The model providers' public protocols: addresses, streams, and how each counts tokens."""
