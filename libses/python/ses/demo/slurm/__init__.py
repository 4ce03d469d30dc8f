"""A Slurm of its own on this machine, of Debian's packages: for the demonstration of jobs, and for tests."""
