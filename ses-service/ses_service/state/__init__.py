"""Site, requirements, observations and ledger of a running service, behind one lock."""
