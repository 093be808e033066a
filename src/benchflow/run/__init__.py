"""Launches jobs on Harbor and stand-alone verifications; the only place that knows Harbor's Job."""
