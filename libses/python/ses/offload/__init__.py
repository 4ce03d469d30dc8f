"""Call functions of this program where their data lie, from Python: libses-offload.

    from ses import offload

    @offload.function
    def count(path: str, word: str) -> int:
        return sum(word in line for line in open(path))

    if __name__ == "__main__":
        offload.serve()                                   # storage part: never returns
        with offload.Domain("store1") as store:
            print(store.call(count, "/data/big.txt", "ERROR"))

The same script runs on both nodes under the same path; everything above ``serve`` runs in both.  Arguments
and results are JSON values: numbers, texts, lists, dictionaries with texts as keys, ``None``, booleans.

``submit`` gives a :class:`concurrent.futures.Future`; calls of one domain run in the order they were
submitted, one at a time.  Failures raise :class:`OffloadError`, exceptions of the function
:class:`FunctionError`.

Needs ``libses-offload.so.0`` where the dynamic linker finds it, or named by ``SES_OFFLOAD_LIBRARY``.
"""

from ses.offload.calls import Domain, FunctionError, OffloadError
from ses.offload.functions import function, is_cancelled, serve
from ses.offload.library import Fallback, Status

__all__ = [
    "Domain",
    "Fallback",
    "FunctionError",
    "OffloadError",
    "Status",
    "function",
    "is_cancelled",
    "serve",
]
