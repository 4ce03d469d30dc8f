"""Programs run where their files lie: what that costs, on which node, and how.

``cost`` is the model that decides, and pure.  ``execution`` runs programs on other nodes.  ``placing`` finds
the node that holds a file; ``sampling`` and ``history`` show what a program does with its data.
"""
