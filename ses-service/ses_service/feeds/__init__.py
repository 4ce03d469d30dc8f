"""What the service reads of others, or writes there: knowledge base, monitor, other services."""
