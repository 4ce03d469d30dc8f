"""How a program is run on another node: one executor per file, one runner for all.

An executor (:mod:`ses.near.execution.executors`) only says which command starts Python on a node.  What is
started there is :mod:`ses.near.execution.runner`, which :mod:`ses.near.execution.connection` keeps; one
program (:mod:`ses.near.execution.run`) over it is a :mod:`ses.near.execution.conversation`, and the bytes are
:mod:`ses.near.execution.frames`.
"""
