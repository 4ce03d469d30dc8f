"""``ses place``: a choice among plain directories of this machine, without service, root or preparation.

A directory is looked at (``directories``), what moves on the device below it is measured (``samples``), and
claims that others made there are counted (``claims``, ``ledger``).  The decision core chooses (``decision``),
and the choice is written down as a claim (``placing``).
"""
