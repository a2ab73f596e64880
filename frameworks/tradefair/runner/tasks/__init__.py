"""An environment to train and evaluate in: tasks with names, seats over HTTP, and the score of what was played."""
