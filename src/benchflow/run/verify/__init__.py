"""Verification without Harbor, in a sandbox or on this host."""
