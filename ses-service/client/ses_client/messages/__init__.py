"""What the service answers, each answer stated once, a module for each subject.

The service makes these and sends them as JSON, its contract is made from them, and callers read them.
Rates are MB/s, capacities GB, times seconds since the epoch, unless a name says otherwise; ``None`` is
unknown.
"""
