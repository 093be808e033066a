"""Looks into what was delivered without booting it: images, archives, file systems, signatures."""
