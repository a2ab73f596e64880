"""From a trace to its outcome, its findings and its reward."""
