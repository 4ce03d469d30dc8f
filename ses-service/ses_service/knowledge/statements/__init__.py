"""What is stated about each subject: Turtle in and out, one canonical form, the difference of two."""
