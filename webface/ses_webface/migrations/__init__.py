"""Steps that bring a database from empty to the tables of this version."""
