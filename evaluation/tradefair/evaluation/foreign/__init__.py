"""Runs that no market of ours has made: readers, audits, exports, their pages and verdicts."""
