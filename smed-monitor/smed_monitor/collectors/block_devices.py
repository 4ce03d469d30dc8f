"""What the counters of a block device say of the elements on it, by whatever way they were read."""

from dataclasses import replace

from smed_monitor.core.model import Reading


def unless_blind(reading: Reading) -> Reading:
    """``reading`` without counters that have never counted: what is mounted was read to be mounted."""
    counters = (reading.read_bytes, reading.written_bytes, reading.operations)
    if not reading.size_bytes or counters != (0, 0, 0):
        return reading
    return replace(
        reading,
        read_bytes=None,
        written_bytes=None,
        operations=None,
        busy_seconds=None,
        request_seconds=None,
        in_flight=None,
        note=f"no rates: {reading.device} has counted nothing since the start, though it is in use; "
        "name the device whose counters move by device",
    )
