"""What is read from Slurm, and written to it, by its own commands."""
