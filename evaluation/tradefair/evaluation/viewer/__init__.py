"""A folder of traces in the browser: `tradefair view DIR`, on this machine only."""
