"""The RDF store: its HTTP client, the embedded one, and updates that are sent again."""
