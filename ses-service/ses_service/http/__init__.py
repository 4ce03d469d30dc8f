"""How requests arrive and answers leave: server, connections, limits, who goes next."""
