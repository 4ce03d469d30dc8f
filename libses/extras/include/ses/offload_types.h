/*
 * Types of what travels between a program and its storage part.
 *
 * A ses_offload_type says how one object is written, read and released.  All
 * primitive types, texts, byte strings and functions are ready below; structures are
 * declared as a table of their members:
 *
 *     struct query { char *word; size_t count; double *weights; int limits[4]; };
 *     static const ses_offload_field query_fields[] = {
 *         SES_OFFLOAD_MEMBER(struct query, word, &ses_type_string),
 *         SES_OFFLOAD_COUNTED(struct query, weights, &ses_type_double, count),
 *         SES_OFFLOAD_MEMBER(struct query, limits, &ses_type_int),
 *     };
 *     static const ses_offload_type query_type = SES_OFFLOAD_STRUCT(struct query, query_fields);
 *
 * Copies are deep: what pointers lead to is copied, too.  It is allocated by
 * malloc on the other side.  Pointers nest at most SES_OFFLOAD_DEPTH_MAX deep
 * (a longer list, or a cycle, is refused with BAD_DATA).
 *
 * On the wire everything is a sequence of MessagePack atoms, so both sides may
 * differ in the size of long.  A number that does not fit the reader's type is
 * refused.
 */
#ifndef SES_OFFLOAD_TYPES_H
#define SES_OFFLOAD_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SES_OFFLOAD_API __attribute__((visibility("default")))
#else
#define SES_OFFLOAD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SES_OFFLOAD_DEPTH_MAX 1000u

/* A function that can be offloaded.  0 is success; other values are the program's own.  IN belongs
 * to the library.  What OUT points to must come from malloc; the library frees it.  OUT is all zero
 * bytes at first. */
typedef int (*ses_offload_function)(const void *in, void *out);

/* Where objects are written to and read from.  The first failure sticks: later calls do nothing,
 * and reading gives 0. */
typedef struct ses_offload_writer ses_offload_writer;
typedef struct ses_offload_reader ses_offload_reader;

typedef struct ses_offload_type ses_offload_type;
typedef struct ses_offload_field ses_offload_field;
struct ses_offload_type {
  const char *name;
  size_t size; /* bytes of one object, without what it points to */
  void (*write)(const ses_offload_type *type, const void *object, ses_offload_writer *to);
  void (*read)(const ses_offload_type *type, void *object, ses_offload_reader *from);
  void (*release)(const ses_offload_type *type, void *object); /* NULL: it points to nothing */
  const ses_offload_field *fields;                             /* of a structure */
  size_t field_count;
};

/* A member of a structure.  `indirect` 0: objects lie in the structure, as many as fit the member.
 * 1: a pointer to one object, or NULL.  2: a pointer to as many objects as the counter says. */
struct ses_offload_field {
  const char *name;
  const ses_offload_type *type;
  size_t offset;
  size_t size;
  int indirect;
  size_t counter_offset;
  size_t counter_size; /* of an unsigned or never negative integer: 1, 2, 4 or 8 bytes */
};

#define SES_OFFLOAD_MEMBER(structure, member, type)                                                \
  { #member, type, offsetof(structure, member), sizeof(((structure *)0)->member), 0, 0, 0 }
#define SES_OFFLOAD_POINTER(structure, member, type)                                               \
  { #member, type, offsetof(structure, member), sizeof(((structure *)0)->member), 1, 0, 0 }
#define SES_OFFLOAD_COUNTED(structure, member, type, counter)                                      \
  {                                                                                                \
#member, type, offsetof(structure, member), sizeof(((structure *)0)->member), 2,               \
        offsetof(structure, counter), sizeof(((structure *)0)->counter)                            \
  }
#define SES_OFFLOAD_STRUCT(structure, fields)                                                      \
  {                                                                                                \
#structure, sizeof(structure), ses_offload_write_struct, ses_offload_read_struct,              \
        ses_offload_release_struct, fields, sizeof(fields) / sizeof((fields)[0])                   \
  }

SES_OFFLOAD_API void ses_offload_write_struct(const ses_offload_type *type, const void *object,
                                              ses_offload_writer *to);
SES_OFFLOAD_API void ses_offload_read_struct(const ses_offload_type *type, void *object,
                                             ses_offload_reader *from);
SES_OFFLOAD_API void ses_offload_release_struct(const ses_offload_type *type, void *object);

/* Every primitive type: X(suffix of ses_type_, type in C, how it travels).  `char` travels as a
 * number, of the sign it has on each side. */
#define SES_OFFLOAD_PRIMITIVES(X)                                                                  \
  X(bool, _Bool, unsigned)                                                                         \
  X(char, char, integer)                                                                           \
  X(schar, signed char, integer)                                                                   \
  X(uchar, unsigned char, unsigned)                                                                \
  X(short, short, integer)                                                                         \
  X(ushort, unsigned short, unsigned)                                                              \
  X(int, int, integer)                                                                             \
  X(uint, unsigned int, unsigned)                                                                  \
  X(long, long, integer)                                                                           \
  X(ulong, unsigned long, unsigned)                                                                \
  X(longlong, long long, integer)                                                                  \
  X(ulonglong, unsigned long long, unsigned)                                                       \
  X(float, float, real)                                                                            \
  X(double, double, real)
#define SES_OFFLOAD_DECLARE(suffix, c_type, travels)                                               \
  extern SES_OFFLOAD_API const ses_offload_type ses_type_##suffix;
SES_OFFLOAD_PRIMITIVES(SES_OFFLOAD_DECLARE)
#undef SES_OFFLOAD_DECLARE

/* Bytes of any length; `data` from malloc. */
typedef struct ses_offload_bytes {
  void *data;
  size_t size;
} ses_offload_bytes;

extern SES_OFFLOAD_API const ses_offload_type ses_type_longdouble; /* exact, as hexadecimal text */
extern SES_OFFLOAD_API const ses_offload_type ses_type_string;     /* char *, or NULL */
extern SES_OFFLOAD_API const ses_offload_type ses_type_bytes;      /* ses_offload_bytes */
extern SES_OFFLOAD_API const ses_offload_type ses_type_function; /* a registered one: by its name */

#ifndef __cplusplus
/* The primitive type of an expression or of a type's compound literal: SES_OFFLOAD_TYPE((pid_t)0).
 */
#define SES_OFFLOAD_CASE(suffix, c_type, travels)                                                  \
  c_type:                                                                                          \
  &ses_type_##suffix,
#define SES_OFFLOAD_TYPE(expression)                                                               \
  _Generic((expression),                                                                           \
      SES_OFFLOAD_PRIMITIVES(SES_OFFLOAD_CASE) long double: &ses_type_longdouble,                  \
      char *: &ses_type_string)
#endif

/* Writes an object into *BUF, *LEN bytes that the caller frees.  OK, MEMORY, BAD_DATA, TOO_LARGE.
 */
SES_OFFLOAD_API int ses_offload_marshal(const ses_offload_type *type, const void *object,
                                        char **buf, size_t *len);
/* Reads an object; on any failure it is all zero bytes.  OK, MEMORY, BAD_DATA. */
SES_OFFLOAD_API int ses_offload_unmarshal(const ses_offload_type *type, void *object,
                                          const char *buf, size_t len);
/* Frees what an object points to and sets it to zero bytes. */
SES_OFFLOAD_API void ses_offload_release(const ses_offload_type *type, void *object);

/* For types of your own. */
SES_OFFLOAD_API void ses_offload_write_integer(ses_offload_writer *to, int64_t value);
SES_OFFLOAD_API void ses_offload_write_unsigned(ses_offload_writer *to, uint64_t value);
SES_OFFLOAD_API void ses_offload_write_real(ses_offload_writer *to, double value);
SES_OFFLOAD_API void ses_offload_write_bytes(ses_offload_writer *to, const void *data, size_t size);
SES_OFFLOAD_API void
ses_offload_write_failed(ses_offload_writer *to); /* the object cannot travel */
SES_OFFLOAD_API int64_t ses_offload_read_integer(ses_offload_reader *from, int64_t least,
                                                 int64_t most);
SES_OFFLOAD_API uint64_t ses_offload_read_unsigned(ses_offload_reader *from, uint64_t most);
SES_OFFLOAD_API double ses_offload_read_real(ses_offload_reader *from);
/* A count of things that follow, each at least one atom long: never more than can still come. */
SES_OFFLOAD_API size_t ses_offload_read_count(ses_offload_reader *from);
/* Bytes within the message, valid while it is read; NULL on failure. */
SES_OFFLOAD_API const void *ses_offload_read_bytes(ses_offload_reader *from, size_t *size);
SES_OFFLOAD_API void ses_offload_read_failed(ses_offload_reader *from);
SES_OFFLOAD_API int ses_offload_reader_ok(const ses_offload_reader *from);

#ifdef __cplusplus
}
#endif

#endif /* SES_OFFLOAD_TYPES_H */
