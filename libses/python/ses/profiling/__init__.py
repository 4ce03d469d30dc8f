"""Measuring what an unmodified program reads, writes and computes, from outside it.

Folders import in this order: ``result`` (plain data), ``attribution``, ``phases``, ``needs``, ``darshan``
(pure), ``proc``, ``counters`` (the kernel), ``run``.
"""
