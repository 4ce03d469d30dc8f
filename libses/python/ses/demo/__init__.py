"""The demonstration behind ``ses demo``: the whole chain on one machine, on real input.

:mod:`ses.demo.run` has the order of things; every other file is one subject.  Whatever is made is
undone, also after Ctrl-C, SIGTERM and failure: each step registers how to undo it *before* it is
done, and undoing a step that never happened does nothing.
"""
