"""Says in "name=value" lines what the Python interface does."""

import os
import sys
import time
from concurrent.futures import CancelledError

from ses import offload


@offload.function
def summed(numbers: list[int], names: dict[str, str], *, by: int = 1) -> dict[str, object]:
    print("what a function prints goes where errors are")
    return {"sum": sum(numbers) * by, "names": sorted(names), "apart": os.getpid() != int(names["caller"])}


@offload.function
def divided(dividend: int, divisor: int) -> float:
    return dividend / divisor


@offload.function
def until_cancelled() -> None:
    while not offload.is_cancelled():
        time.sleep(0.001)


@offload.function
def ended() -> None:
    os._exit(1)


def plain() -> None:
    return


def say_where(file: str) -> None:
    """Say whether a function runs in another process, for a file, or why it does not."""
    try:
        with offload.Domain(file=file) as store:
            print("file=", store.call(summed, [1], {"caller": str(os.getpid())})["apart"], sep="")
    except offload.OffloadError as error:
        print(f"file={error}")


if __name__ == "__main__":
    offload.serve()
    if sys.argv[1] == "file":
        say_where(sys.argv[2])
        sys.exit()
    print("argv=", *sys.argv[1:], sep="")
    names = {"ö": "", "caller": str(os.getpid())}
    with offload.Domain("here") as here:
        result = here.call(summed, [1, 2], names, by=1 << 40)
        print("summed=", result == {"sum": 3 << 40, "names": ["caller", "ö"], "apart": True}, sep="")
        several = [here.submit(divided, number, 2) for number in range(5)]
        print("futures=", *(future.result() for future in several))
        try:
            here.call(divided, 1, 0)
        except offload.FunctionError as error:
            print(f"failed={error.status.name} {error.message}")
        runs, waits = here.submit(until_cancelled), here.submit(divided, 1, 1)
        while not runs.running():
            time.sleep(0.001)
        print("cancelled=", waits.cancel(), sep="")
    try:
        runs.result()
    except CancelledError:
        print("closed=CancelledError")
    with offload.Domain("here") as here:
        for turn in ("lost", "again"):
            try:
                here.call(ended)
            except offload.OffloadError as error:
                print(f"{turn}={error.status.name}")
        try:
            here.call(plain)
        except Exception as error:
            print(f"plain={error}")
    try:
        offload.Domain("command:nowhere", rsh="false")
    except offload.OffloadError as error:
        print(f"start={error}")
    with offload.Domain("command:nowhere", rsh="false", fallback=offload.Fallback.START) as here:
        print("local=", here.call(divided, 3, 2), sep="")
