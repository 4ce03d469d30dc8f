/*
 * remade REGION: while an item is looked for, and its name was just found, it is freed and another
 * one made in its place.  Prints what the search says.
 */
#include <ses/share.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static ses_share *other;
static bool armed;

static void remake(void) {
  const ses_share_kind kind = {.bytes = 8};
  ses_share_item *item;
  if (ses_share_find(other, "sought", &item) != 0 || ses_share_free(item) != 0 ||
      ses_share_alloc(other, "another", &kind, &item) != 0)
    puts("not remade");
}

/* In place of the C library's: the search compares names by it. */
int strncmp(const char *first, const char *second, size_t most) {
  size_t i = 0;
  while (i < most && first[i] == second[i] && first[i] != '\0')
    i++;
  int difference = i < most ? (unsigned char)first[i] - (unsigned char)second[i] : 0;
  if (difference == 0 && armed && strcmp(second, "sought") == 0) {
    armed = false;
    remake();
  }
  return difference;
}

int main(int argc, char **argv) {
  const ses_share_kind kind = {.bytes = 8};
  ses_share *share;
  ses_share_item *item, *sought = NULL;
  if (argc != 2 || ses_share_create(argv[1], NULL, &share) != 0 ||
      ses_share_open(argv[1], &other) != 0 || ses_share_alloc(share, "sought", &kind, &item) != 0)
    return 1;
  armed = true;
  int status = ses_share_find(share, "sought", &sought);
  printf("%s\n", armed ? "not looked for" : strerror(status));
  return 0;
}
