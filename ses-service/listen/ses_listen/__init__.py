"""How service, monitor and portal listen: TLS, limits that hold for any client, Flask in threads.

Knows HTTP and nothing of what is served.
"""
