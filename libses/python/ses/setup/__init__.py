"""What ``ses init`` writes: the configuration of a site, from what is mounted and a few answers."""
