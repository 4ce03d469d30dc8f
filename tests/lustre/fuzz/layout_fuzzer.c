/*
 * Feeds layouts that nobody would write to the decoder and the editor of
 * libses/src/lustre/layout.c, and checks what must hold of any of them.
 *
 * The first 16 bytes of the input are the choice, the rest is the layout.
 * Inputs and results lie in blocks of exactly their size, so that
 * AddressSanitizer sees a read or write one byte too far.
 *
 * Built with libFuzzer:
 *   clang-14 -g -O1 -fsanitize=fuzzer,address,undefined -I libses/src \
 *     tests/lustre/fuzz/layout_fuzzer.c libses/src/lustre/layout.c -o build/layout_fuzzer
 *   build/layout_fuzzer -max_len=1024 -max_total_time=600 build/found tests/lustre/corpus
 * Built without (-DREPLAY): runs once over each file it is given, which is how
 * the tests run the corpus.
 */
#include "lustre/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHOICE_SIZE 16u

#define MUST(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

static void *exactly(const void *bytes, size_t size) {
  void *copy = malloc(size ? size : 1);
  MUST(copy);
  if (size)
    memcpy(copy, bytes, size);
  return copy;
}

static bool is_same_part(const struct ses_lov *a, const struct ses_lov_component *in_a,
                         const struct ses_lov *b, const struct ses_lov_component *in_b) {
  return in_a->length == in_b->length &&
         memcmp(a->bytes + in_a->at, b->bytes + in_b->at, in_a->length) == 0;
}

static void walk(const struct ses_lov *lov) {
  struct ses_lov_component component;
  unsigned long sum = 0;
  MUST(lov->components > 0 && lov->mirrors > 0);
  for (unsigned i = 0; i < lov->components; i++) {
    MUST(ses_lov_component(lov, i, &component));
    MUST(component.at + component.length <= lov->size);
    for (unsigned j = 0; j < component.objects; j++)
      sum += ses_lov_ost(&component, j);
    MUST(component.pool[SES_LOV_POOL_SIZE] == '\0');
  }
  MUST(!ses_lov_component(lov, lov->components, &component));
  if (sum == 1) /* so that nothing above is optimised away */
    fputc('\0', stderr);
}

static void compare(const struct ses_lov *before, const struct ses_lov *after) {
  MUST(before->components == after->components && before->mirrors == after->mirrors);
  for (unsigned i = 0; i < before->components; i++) {
    struct ses_lov_component was;
    struct ses_lov_component is;
    ses_lov_component(before, i, &was);
    ses_lov_component(after, i, &is);
    MUST(was.id == is.id && was.flags == is.flags && was.start == is.start && was.end == is.end);
    bool fixed = was.flags & (SES_LOV_COMPONENT_INIT | SES_LOV_COMPONENT_EXTENSION) ||
                 was.pattern & SES_LOV_PATTERN_MDT || was.magic == SES_LOV_FOREIGN;
    /* Parts that lie on each other change together; a layout Lustre made has none. */
    bool apart = true;
    for (unsigned j = 0; j < before->components; j++) {
      struct ses_lov_component other;
      ses_lov_component(before, j, &other);
      if (j != i && other.at < was.at + was.length && was.at < other.at + other.length)
        apart = false;
    }
    MUST(!fixed || !apart || is_same_part(before, &was, after, &is));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint16_t osts[SES_LOV_OSTS_MAX + 1] = {3, 1,  4, 15, 9,  2,  6,
                                                      5, 35, 8, 97, 93, 23, 84};
  if (size < CHOICE_SIZE)
    return 0;
  char pool[SES_LOV_POOL_SIZE];
  memcpy(pool, data, 8);
  memset(pool + 8, 0, sizeof pool - 8);
  struct ses_lov_choice choice = {.form = (enum ses_lov_form)(data[8] % 5),
                                  .pool = pool,
                                  .osts = osts,
                                  .ost_count = data[9] % (SES_LOV_OSTS_MAX + 2),
                                  .stripe_count = data[10],
                                  .stripe_size = (uint32_t)data[11] << 16};
  size_t room = (size_t)data[12] * 8;
  data += CHOICE_SIZE;
  size -= CHOICE_SIZE;
  unsigned char *bytes = exactly(data, size);
  unsigned char *into = malloc(room ? room : 1);
  MUST(into);

  struct ses_lov before;
  int readable = ses_lov_read(&before, bytes, size);
  MUST(readable == 0 || readable == -22);
  if (readable == 0)
    walk(&before);
  struct ses_lov_work work;
  long edited = ses_lov_edit(bytes, size, &choice, into, room, &work);
  MUST(memcmp(bytes, data, size) == 0);
  if (edited > 0) {
    struct ses_lov after;
    MUST((size_t)edited <= room);
    MUST(size == 0 || readable == 0);
    unsigned char *result = exactly(into, (size_t)edited);
    MUST(ses_lov_read(&after, result, (size_t)edited) == 0);
    walk(&after);
    if (size > 0 && before.magic == SES_LOV_COMP)
      compare(&before, &after);
    free(result);
  } else {
    MUST(edited == -22 || edited == -34 || edited == -95);
  }
  free(into);
  free(bytes);
  return 0;
}

#ifdef REPLAY
int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    static uint8_t buffer[1 << 16];
    FILE *file = fopen(argv[i], "rb");
    MUST(file);
    size_t size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    LLVMFuzzerTestOneInput(buffer, size);
  }
  printf("%d inputs\n", argc - 1);
  return argc > 1 ? 0 : 2;
}
#endif
