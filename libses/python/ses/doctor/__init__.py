"""What ``ses doctor`` looks at, one file per link of the chain.

Each ``check_…`` function returns findings and never raises for a fault of the chain: a fault is a
finding.  Nothing is changed or repaired; the one thing reserved (a question to the agent) is given
back at once.
"""
