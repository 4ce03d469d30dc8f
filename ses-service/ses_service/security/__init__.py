"""Who may call, by token file or UNIX socket, and whom the service believes: TLS on both sides."""
