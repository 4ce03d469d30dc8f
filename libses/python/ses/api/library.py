"""The C library behind :mod:`ses.api`: found, loaded once, its declarations."""

from __future__ import annotations

import os
from enum import IntEnum
from functools import cache
from typing import Any

from cffi import FFI

from ses import native

NAME = "libses.so.0"
_ADVICE = (
    "Install libses (`cmake --install build/libses`, or the package libses0), "
    "or say where it is by SES_LIBRARY."
)

# What ses.h and stream.h of libses/include/ses declare; a test compares them.
DECLARATIONS = """
typedef struct ses_policy ses_policy;
typedef struct ses_layout ses_layout;
typedef struct ses_result {
  int32_t placed;
  int32_t reason;
  int32_t create_errno;
  int32_t place_errno;
  int32_t policy_status;
  int32_t chosen_by;
  uint64_t placement_id;
  double distance;
  char element[96];
  uint64_t reserved[15];
} ses_result;
typedef struct ses_component {
  uint64_t start;
  uint64_t end;
  uint64_t stripe_size;
  uint32_t stripe_count;
  uint32_t osts;
  int32_t on_metadata_server;
  char pool[20];
  uint64_t reserved[9];
} ses_component;
typedef struct ses_node {
  double distance;
  double read_mb_s;
  double write_mb_s;
  char name[128];
  char element[96];
  uint64_t reserved[17];
} ses_node;

typedef struct ses_place {
  char id[24];
  char element[96];
  char directory[4096];
  uint64_t reserved[17];
} ses_place;
typedef struct ses_load {
  double read_mb_s;
  double write_mb_s;
  double free_gb;
  float own;
  float foreign;
  float busy;
  uint32_t state;
  uint32_t number;
  uint32_t reserved[5];
} ses_load;
typedef struct ses_loads ses_loads;
typedef struct ses_stream_node {
  double disk;
  double io_bus;
  double memory_bus;
  double processor;
  double link;
  double copy_rate;
} ses_stream_node;
typedef struct ses_stream_profile {
  double alpha;
  double beta_l;
  double beta_d;
  double gamma;
  int32_t in_turn;
} ses_stream_profile;
typedef struct ses_stream_crossings {
  double stream;
  double local;
  double distant;
} ses_stream_crossings;
typedef struct ses_stream_path {
  ses_stream_crossings disk;
  ses_stream_crossings io_bus;
  ses_stream_crossings memory_bus;
  ses_stream_crossings copies;
  ses_stream_crossings link;
} ses_stream_path;
typedef struct ses_stream_limits {
  double rate;
  double allowed[5];
  double needed[5];
  int32_t binding;
  int32_t reserved[15];
} ses_stream_limits;

ses_policy *ses_policy_new(void);
ses_policy *ses_policy_copy(const ses_policy *policy);
void ses_policy_free(ses_policy *policy);
int ses_policy_status(const ses_policy *policy);
int ses_policy_set_current_read_rate(ses_policy *policy, double mb_per_s);
int ses_policy_set_average_read_rate(ses_policy *policy, double mb_per_s);
int ses_policy_set_current_write_rate(ses_policy *policy, double mb_per_s);
int ses_policy_set_average_write_rate(ses_policy *policy, double mb_per_s);
int ses_policy_set_capacity(ses_policy *policy, double gb);
int ses_policy_set_weight(ses_policy *policy, int kind, double weight);
int ses_policy_set_hard(ses_policy *policy, int kind, int hard);
int ses_policy_clear(ses_policy *policy, int kind);
int ses_policy_set_expected_size(ses_policy *policy, uint64_t bytes);
int ses_policy_set_stripe_count(ses_policy *policy, unsigned count);
int ses_policy_set_stripe_size(ses_policy *policy, uint64_t bytes);
int ses_policy_set_pool(ses_policy *policy, const char *pool);
int ses_policy_set_application(ses_policy *policy, const char *application);
int ses_create(const char *path, unsigned mode, const ses_policy *policy, ses_result *result);
int ses_create_at(int dirfd, const char *path, int flags, unsigned mode, const ses_policy *policy,
                  ses_result *result);
ses_layout *ses_layout_read(const char *path);
void ses_layout_free(ses_layout *layout);
unsigned ses_layout_components(const ses_layout *layout);
int ses_layout_component(const ses_layout *layout, unsigned number, ses_component *component);
unsigned ses_layout_osts(const ses_layout *layout, unsigned number, uint32_t *osts, unsigned room);
int ses_find_nodes(const ses_policy *policy, const char *among, unsigned count, ses_node *nodes,
                   unsigned room);
int ses_place_directory(const char *system, const ses_policy *policy, const char *name,
                        ses_place *place);
int ses_place_release(const ses_place *place);
ses_loads *ses_loads_open(const char *directory);
void ses_loads_close(ses_loads *loads);
int ses_loads_read(ses_loads *loads, ses_load *rows, unsigned room, double *age_seconds);
const char *ses_loads_element(const ses_loads *loads, unsigned row);
int ses_stream_bound(const ses_stream_node *node, const ses_stream_profile *profile,
                     const ses_stream_path *path, ses_stream_limits *limits);
const char *ses_strerror(int status);
const char *ses_version(void);
"""

ffi = FFI()
ffi.cdef(DECLARATIONS)


class LibraryError(OSError):
    """The C library cannot be loaded."""


class Status(IntEnum):
    """What a create or a setter returns; the numbers of ``ses_status``."""

    OK = 0
    REFUSED_NO_POLICY = 1
    REFUSED_NOT_FINITE = 2
    REFUSED_NEGATIVE = 3
    REFUSED_TOO_LARGE = 4
    REFUSED_KIND = 5
    REFUSED_STRIPE_SIZE = 6
    REFUSED_POOL = 7
    REFUSED_APPLICATION = 8
    NOT_PLACED_EXISTS = 20
    NOT_PLACED_NOT_MANAGED = 21
    NOT_PLACED_NO_AGENT = 22
    NOT_PLACED_NO_ANSWER = 23
    NOT_PLACED_NO_DECISION = 24
    NOT_PLACED_UNSUITED = 25
    NOT_PLACED_STEP_FAILED = 26
    CREATE_FAILED = 40


@cache
def library() -> Any:
    """Return the loaded library; raises LibraryError, which says where it was looked for."""
    return native.load(ffi, NAME, os.environ.get("SES_LIBRARY"), _ADVICE, LibraryError)


def text(characters: Any) -> str:
    """Return a text of the library's as one of Python's."""
    return native.text(ffi, characters)


def describe(status: int) -> str:
    """Return one English clause for a status, without a full stop."""
    return text(library().ses_strerror(status))


def version() -> str:
    """Return the library's version, ``MAJOR.MINOR.PATCH``."""
    return text(library().ses_version())
