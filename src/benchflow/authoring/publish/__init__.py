"""Tasks for others to load: images in a registry, what is in them, and a datasheet each."""
