"""What carries out a call: Core, its events, turns and players, and replaying them."""
