"""Settings of a monitor that asks nobody but this machine."""

MONITOR = """
[[target]]
name = "here"
collector = "statvfs"
paths = ["/"]

[[element]]
id = "a/b"
target = "here"
mount_point = "/"
"""
