"""A model that runs in this process, without a key and a network: `--model local`."""
