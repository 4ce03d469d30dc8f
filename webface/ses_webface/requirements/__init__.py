"""Requirements: what people ask of storage, at each level, and the ranking it would give."""
