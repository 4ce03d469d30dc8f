"""The hard scenarios, a file for each group."""
