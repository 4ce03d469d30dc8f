/*
 * What the preload library uses of <string.h> on paths that are not hot, as
 * functions of its own under the usual names.  Each name left to the C library
 * is one more to be looked up whenever a program starts, more often than not a
 * program that creates nothing; and a program may bring its own.
 *
 * memcpy(), memset() and strnlen() stay the C library's: every create uses
 * them.  Does NOT enter libses.so or any program: all is hidden.
 */
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

void *memchr(const void *in, int what, size_t size) {
  for (const byte *at = in; size > 0; at++, size--)
    if (*at == (byte)what)
      return (void *)(uintptr_t)at;
  return NULL;
}

int memcmp(const void *first, const void *second, size_t size) {
  const byte *a = first;
  const byte *b = second;
  for (; size > 0; a++, b++, size--)
    if (*a != *b)
      return *a - *b;
  return 0;
}

/* The two may overlap. */
void *memmove(void *into, const void *from, size_t size) {
  byte *to = into;
  const byte *at = from;
  if ((uintptr_t)to <= (uintptr_t)at)
    for (size_t i = 0; i < size; i++)
      to[i] = at[i];
  else
    while (size-- > 0)
      to[size] = at[size];
  return into;
}

char *strchr(const char *in, int what) {
  for (; *in != (char)what; in++)
    if (!*in)
      return NULL;
  return (char *)(uintptr_t)in;
}

int strncmp(const char *first, const char *second, size_t size) {
  for (; size > 0; first++, second++, size--)
    if (*first != *second || !*first)
      return (byte)*first - (byte)*second;
  return 0;
}

int strcmp(const char *first, const char *second) {
  for (; *first == *second && *first; first++, second++)
    ;
  return (byte)*first - (byte)*second;
}

size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length])
    length++;
  return length;
}

char *strstr(const char *in, const char *what) {
  size_t length = strlen(what);
  for (;; in++)
    if (strncmp(in, what, length) == 0)
      return (char *)(uintptr_t)in;
    else if (!*in)
      return NULL;
}
