"""What configures the monitor: its settings and the description of the site."""
