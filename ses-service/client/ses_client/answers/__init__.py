"""What the service answers, a module for each subject; one frozen dataclass for each thing of its contract.

Each is made by ``of()`` from decoded JSON.  Members nobody needs are not kept, unknown ones are ignored; a
missing or misshapen one raises KeyError, TypeError or ValueError, of which the connection makes a
BadAnswerError.  Rates are MB/s, capacities GB, times seconds since the epoch, unless a unit comes with them.
"""
