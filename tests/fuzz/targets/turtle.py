"""A description of a site or of requirements, as `ses kb validate` and an import read it."""

import sys

import atheris

with atheris.instrument_imports(include=["ses_service.knowledge"]):
    from ses_service.knowledge.checks.validation import validate
    from ses_service.knowledge.errors import InvalidDescriptionError
    from ses_service.knowledge.exchange.incoming import Incoming, check


def one_input(data: bytes) -> None:
    text = data[1:].decode("utf-8", "surrogateescape" if data[:1] == b"s" else "replace")
    way = data[:1]
    try:
        incoming = Incoming.read(text, "fuzz.ttl", trig=way == b"t", quick=way == b"q")
    except InvalidDescriptionError:
        incoming = None
    if way == b"v":
        validate(text, "fuzz.ttl")
    elif incoming is not None and len(incoming.graph) < 50:
        try:
            check(incoming.site, incoming, "fuzz.ttl", as_given=way == b"a")
            incoming.requirement_sets()
        except InvalidDescriptionError:
            pass


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
