"""Files that others name or send, opened with bounds; folders of them; our own files, whole or not at all."""
