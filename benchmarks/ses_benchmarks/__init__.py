"""What `make bench` measures: the cost of the library in a program, and of a decision in the service."""
