"""What is read from Slurm, and told to it, by its own commands."""
