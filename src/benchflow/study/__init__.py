"""From records to findings: every estimate that the report and the site show."""
