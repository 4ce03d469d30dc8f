"""Sorting what ``ses map-near --shuffle`` prints, over all nodes that hold files.

The output of each task is a sorted file on its node.  Keys of samples divide the whole into as many parts as
there are nodes; each node merges one part, of which it gets the ranges of the other nodes' files from there.
:mod:`ses.near.shuffle.sorted_output` and :mod:`ses.near.shuffle.exchange` run on the nodes,
:mod:`ses.near.shuffle.sorting` is the caller's side.
"""
