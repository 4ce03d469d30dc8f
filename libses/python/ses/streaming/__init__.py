"""What a streaming program moves over each resource of a node, which of them limits it, and at what rate.

The model is that of READ2 (Cozette, Randriamaro, Utard: INRIA RR-4401, 2002), extended to the paths of
today's kernels.  Pure: no input or output, no clock, no randomness.
"""
