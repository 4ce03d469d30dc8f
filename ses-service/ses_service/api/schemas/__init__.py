"""What requests look like that several routes share, or that Flask does not see; as pydantic models."""
