"""Signs of collusion in the double auction: nine measures over traces, each with its null."""
