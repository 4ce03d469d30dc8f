"""What the service reads of others, or tells them: knowledge base, monitor, other services."""
