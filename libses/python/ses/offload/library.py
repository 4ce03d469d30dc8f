"""libses-offload behind :mod:`ses.offload`: found, loaded once, its declarations."""

from __future__ import annotations

import os
from enum import IntEnum
from functools import cache
from typing import Any

from cffi import FFI
from ses_client.errors import SesError

from ses import native

NAME = "libses-offload.so.0"
_ADVICE = "Install libses-offload (the package libses-offload0), or say where it is by SES_OFFLOAD_LIBRARY."

# What of ses/offload.h and ses/offload_types.h is used; a test compares them.
DECLARATIONS = """
typedef struct ses_offload_type {
  const char *name;
  size_t size;
  void *write;
  void *read;
  void *release;
  const void *fields;
  size_t field_count;
} ses_offload_type;
typedef struct ses_offload_bytes {
  void *data;
  size_t size;
} ses_offload_bytes;
typedef struct ses_offload_options {
  const char *rsh;
  const char *program;
  const char *address;
  unsigned start_seconds;
  int fallback;
} ses_offload_options;
typedef struct ses_offload_report {
  int status;
  int function_status;
  bool ran_here;
  uint64_t bytes_sent;
  uint64_t bytes_received;
  double seconds;
  double cpu_seconds;
  char message[256];
} ses_offload_report;
typedef struct ses_offload_domain ses_offload_domain;
typedef struct ses_offload_future ses_offload_future;
extern ses_offload_type ses_type_bytes;

const char *ses_offload_strerror(int status);
int ses_offload_init(int *argc, char ***argv);
int ses_offload_set_command(const char *const *command);
void ses_offload_serve(void);
int ses_offload_register_function(const char *name, int (*function)(const void *in, void *out),
                                  const ses_offload_type *in, const ses_offload_type *out);
void ses_offload_explain(const char *text);
bool ses_offload_is_cancelled(void);
int ses_offload_open(const char *address, const ses_offload_options *options,
                     ses_offload_domain **domain);
int ses_offload_open_file(const char *path, const ses_offload_options *options,
                          ses_offload_domain **domain);
void ses_offload_close(ses_offload_domain *domain);
const char *ses_offload_reason(void);
int ses_offload_start(ses_offload_domain *domain, const char *name, const void *in,
                      ses_offload_future **future);
int ses_offload_wait(ses_offload_future *future, double seconds, void *out,
                     ses_offload_report *report);
void ses_offload_free(ses_offload_future *future);
void ses_offload_release(const ses_offload_type *type, void *object);
"""

ffi = FFI()
ffi.cdef(DECLARATIONS)
ffi.cdef("void *malloc(size_t size);")


class Status(IntEnum):
    """How a call went; the numbers of ``ses_offload_status``."""

    OK = 0
    INVALID = 1
    MEMORY = 2
    NO_FUNCTION = 3
    FULL = 4
    BAD_DATA = 5
    TOO_LARGE = 6
    NOT_STARTED = 7
    OTHER_VERSION = 8
    LOST = 9
    FAILED = 10
    CANCELLED = 11
    NOT_YET = 12
    FORKED = 13


class Fallback(IntEnum):
    """What may run in this process; the numbers of ``ses_offload_fallback``."""

    NEVER = 0
    START = 1
    ALWAYS = 2


@cache
def library() -> Any:
    """Return the loaded library; raises SesError, which says where it was looked for."""
    return native.load(ffi, NAME, os.environ.get("SES_OFFLOAD_LIBRARY"), _ADVICE, SesError)


@cache
def of_process() -> Any:
    """Return the C library of this process."""
    return ffi.dlopen(None)


def text(characters: Any) -> str:
    """Return a text of the library's as one of Python's."""
    return native.text(ffi, characters)


def put(value: bytes, into: Any) -> None:
    """Copy bytes into a ``ses_offload_bytes`` that the library frees.  Raises MemoryError."""
    data = of_process().malloc(len(value) + 1)
    if data == ffi.NULL:
        raise MemoryError
    ffi.memmove(data, value, len(value))
    into.data, into.size = data, len(value)


def taken(from_: Any) -> bytes:
    """Return what a ``ses_offload_bytes`` holds."""
    return bytes(ffi.buffer(from_.data, from_.size)) if from_.size else b""
