"""What a plan means: its episodes, and how one of them is played."""
