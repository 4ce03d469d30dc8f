"""``ses calibrate``: what elements and nodes do, measured."""
