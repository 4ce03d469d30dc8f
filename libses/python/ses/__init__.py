"""The ``ses`` command: look at elements, rank them, explain placements, mend the chain."""
