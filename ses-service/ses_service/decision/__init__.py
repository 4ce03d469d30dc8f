"""How a file's place is decided and explained, and what nodes are told to decide themselves.  Pure."""
