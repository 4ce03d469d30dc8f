"""A simulator of storage elements, their monitor and the rules that place files on them."""
