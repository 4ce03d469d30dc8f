"""Places for other people's programs (docs/front-ends.md): one file each, which ``ses`` never loads.

Their packages are needed only where they are used.
"""
