"""A folder of traces as a site: verdicts, boards, reports and comparisons that any static server shows."""
