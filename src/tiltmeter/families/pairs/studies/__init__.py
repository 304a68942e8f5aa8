"""Studies of pairs: which scorers and measures of pairs can be trusted? One file each."""
