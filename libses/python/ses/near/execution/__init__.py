"""How a program is run on another node: one executor per file, one runner for all.

An executor (:mod:`ses.near.execution.executors`) only says which command starts Python on a node.  What is
started there is :mod:`ses.near.execution.runner`; this side of the conversation is
:mod:`ses.near.execution.conversation`, and its bytes are :mod:`ses.near.execution.frames`.
"""
