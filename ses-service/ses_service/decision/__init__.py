"""How a file's place is decided and explained, and what nodes get to decide themselves.  Pure."""
