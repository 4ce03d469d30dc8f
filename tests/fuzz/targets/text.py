"""Short texts that people write: lists of hosts, quantities, sentences about a workload."""

import math
import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["ses_service.knowledge", "ses.quantities"]):
    from ses.quantities import quantity
    from ses_client.errors import UsageError
    from ses_service.knowledge.hostlist import HostlistError, expanded, folded
    from ses_service.knowledge.vocabulary import vocabulary
    from ses_service.knowledge.workloads import WorkloadError, expand


def one_input(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with suppress(HostlistError):
        names = expanded(text)
        assert 0 < len(names) <= 100_000
        assert set(expanded(folded(names))) == set(names)
    with suppress(UsageError):
        assert not math.isnan(quantity(text)[0])
    with suppress(WorkloadError):
        expansion = expand(vocabulary().workloads.values(), text, {})
        assert all(not math.isnan(requirement.bound) for requirement in expansion.derived)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
