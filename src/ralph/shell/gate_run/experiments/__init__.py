"""What is tried on a result beyond its verdict? One file an experiment, performed by `schedule`."""
