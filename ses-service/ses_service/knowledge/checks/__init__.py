"""What is wrong with a description: shapes, and faults that shapes cannot say."""
