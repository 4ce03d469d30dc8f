"""What decisions talk about: kinds of requirement, elements, observations, weights and limits.  Pure."""
