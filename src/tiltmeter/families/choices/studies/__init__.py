"""Studies of questions with choices. One file each."""
