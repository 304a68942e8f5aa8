"""Studies of generations: how much do judged texts depend on temperature and noise? One file each."""
