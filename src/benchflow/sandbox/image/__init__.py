"""Images: from a Dockerfile or a folder to a stack of layer directories."""
