"""What can be seen of a mergerfs union from a node that mounts it."""
