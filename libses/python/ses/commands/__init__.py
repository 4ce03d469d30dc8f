"""The commands of ``ses``, one file each."""
