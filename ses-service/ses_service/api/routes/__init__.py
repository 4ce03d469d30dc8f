"""The routes, one file per area.  Each turns a request into one call of the core and an answer."""
