"""The monitor: how loaded every storage element is, and how old each figure is."""
