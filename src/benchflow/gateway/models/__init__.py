"""From the model that a person names to its provider, price and address."""
