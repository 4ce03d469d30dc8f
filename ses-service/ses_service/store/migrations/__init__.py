"""Steps that bring the tables up to date, run at every start."""
