"""The experiments behind ``ses experiment``: real programs, real storage, real services.

:mod:`ses_experiment.collision` asks where files go that are created at almost the same moment,
:mod:`ses_experiment.papers.qstorman.table1` how long the loops of the paper's Table 1 take.  Both stand on
:mod:`ses_experiment.site`, which builds on the demonstration's storage and services.  They do not
know how the product chooses: they look at where files are and how long programs take.
"""
