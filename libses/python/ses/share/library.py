"""libses-share behind :mod:`ses.share`: found, loaded once, its declarations."""

from __future__ import annotations

import errno
import os
from enum import IntEnum
from functools import cache
from typing import Any

from cffi import FFI
from ses_client.errors import SesError

from ses import native

NAME = "libses-share.so.0"
_ADVICE = "Install libses-share (the package libses-share0), or say where it is by SES_SHARE_LIBRARY."

# What of ses/share.h is used; a test compares them.
DECLARATIONS = """
typedef struct ses_share ses_share;
typedef struct ses_share_item ses_share_item;
typedef struct ses_share_options {
  uint64_t bytes;
  uint32_t items;
  uint32_t mode;
  uint32_t grouped;
  uint32_t group;
  uint64_t reserved[4];
} ses_share_options;
typedef struct ses_share_kind {
  uint64_t bytes;
  uint32_t model;
  uint32_t keep;
  uint64_t versions;
  double age_seconds;
  uint64_t reserved[4];
} ses_share_kind;
typedef struct ses_share_facts {
  char name[64];
  uint32_t owner;
  uint32_t group;
  uint32_t mode;
  uint32_t opened;
  uint64_t bytes;
  uint64_t bytes_free;
  uint32_t items;
  uint32_t items_most;
  uint64_t reserved[4];
} ses_share_facts;
typedef struct ses_share_item_facts {
  char name[64];
  ses_share_kind kind;
  uint64_t version;
  uint64_t value_bytes;
  double age_seconds;
  int32_t holder;
  uint32_t padding;
  uint64_t reserved[4];
} ses_share_item_facts;

int ses_share_create(const char *name, const ses_share_options *options, ses_share **share);
int ses_share_open(const char *name, ses_share **share);
void ses_share_close(ses_share *share);
int ses_share_remove(const char *name);
void ses_share_patience(ses_share *share, double seconds);
int ses_share_facts_of(ses_share *share, ses_share_facts *facts);
int ses_share_each(int (*see)(const ses_share_facts *facts, void *with), void *with);
int ses_share_alloc(ses_share *share, const char *name, const ses_share_kind *kind,
                    ses_share_item **item);
int ses_share_find(ses_share *share, const char *name, ses_share_item **item);
int ses_share_have(ses_share *share, const char *name, const ses_share_kind *kind,
                   ses_share_item **item);
void ses_share_let_go(ses_share_item *item);
int ses_share_free(ses_share_item *item);
int ses_share_look(ses_share_item *item, ses_share_item_facts *facts);
int ses_share_item_at(ses_share *share, uint32_t number, ses_share_item_facts *facts);
int ses_share_put(ses_share_item *item, const void *value, size_t bytes, uint64_t *version);
int ses_share_get(ses_share_item *item, void *buffer, size_t room, size_t *bytes,
                  uint64_t *version);
int ses_share_copy(ses_share_item *item, uint64_t version, void *buffer, size_t room,
                   size_t *bytes);
int ses_share_version(ses_share_item *item, uint64_t *version, double *age_seconds);
int ses_share_await(ses_share_item *item, uint64_t version);
void ses_share_refresh(ses_share_item *item);
int ses_share_lock(ses_share_item *item);
int ses_share_unlock(ses_share_item *item);
"""

ffi = FFI()
ffi.cdef(DECLARATIONS)


class Model(IntEnum):
    """What a get may give; the numbers of ``ses_share_model``."""

    READ = 0
    WRITE = 1
    STRICT = 2
    DELTA = 3
    TEMPORAL = 4
    NULL = 5


_MEANINGS = {
    errno.EBADF: "it was freed",
    errno.EDQUOT: "its owner has as much memory there as the node allows one user (ses-share-agent --memory)",
    errno.EMSGSIZE: "the value is larger than the item",
    errno.ENOSPC: "no room is left: in the region for the item, or in the kernel for another region",
    errno.ENOTSUP: "it was made by another version of this library, or in another PID namespace",
    errno.EPERM: "its lock is not held by this process",
    errno.ESTALE: "that version is not kept any more",
    errno.ETIME: "the value is older than its age allows",
    errno.EINVAL: "a name has 1 to 63 of the characters A-Z a-z 0-9 . _ -, and sizes and numbers have limits",
}


@cache
def library() -> Any:
    """Return the loaded library; raises SesError, which says where it was looked for."""
    return native.load(ffi, NAME, os.environ.get("SES_SHARE_LIBRARY"), _ADVICE, SesError)


def check(status: int, what: str) -> None:
    """Raise what an error number of the library stands for; ``what`` was asked for."""
    if status == errno.ETIMEDOUT:
        raise TimeoutError(status, f"{what}: it took too long; another process holds it")
    if status != 0:
        raise OSError(status, _MEANINGS.get(status) or os.strerror(status), what)
