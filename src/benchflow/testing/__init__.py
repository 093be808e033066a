"""Conformance suites that anybody's backend can be put through."""
