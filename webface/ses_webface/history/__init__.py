"""History: what was changed in the knowledge base, by whom, and undoing it."""
