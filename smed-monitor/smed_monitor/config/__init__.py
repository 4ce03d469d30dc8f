"""What the monitor is told: its settings and the description of the site."""
