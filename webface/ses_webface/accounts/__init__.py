"""Accounts: who may sign in, and who is signed in."""
