"""Bounds of a host that its options name: apart from what keeps them, so that `--help` loads none of that."""

from __future__ import annotations

MAX_EPISODES = 1_000
"""Episodes that a host keeps."""
PER_ADDRESS = 256
"""Connections from one address at a time."""
MAX_SEATS = 500
"""Seats of an episode that a control plane orders."""
MAX_BYTES = 256 * 2**20
"""Bytes that a seat's calls may take in the log of an episode."""
EPISODE_BYTES = 2 * 2**30
"""Bytes of the log of an episode."""
KEEP_FREE = 512 * 2**20
"""Free bytes on the disk below which what stores much waits."""
