#include "devices.h"

#include "space.h"
#include "system/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512u
#define MAX_LINES 1024u
#define AGAIN_NS                                                                                   \
  1000000000ull /* from one try to open a file of a device that is gone to the next */

static struct device {
  const char *name; /* in diskstats; NULL: it is read from its stat file */
  size_t name_length;
  uint32_t line; /* where it was last */
  int file;
  const char *stat;  /* whose file that is: a name below /sys/class/block, or a path */
  uint64_t again_ns; /* when it is tried to be opened next */
} devices[SMED_TABLE_MAX];
static uint32_t count;

static int diskstats = -1;
static char text[MAX_LINES * 128];
static const char *lines[MAX_LINES]; /* the names in them, and what follows */
static uint32_t line_count;

/* The numbers of a stat file (Documentation/block/stat.rst); false when there are fewer than 11. */
static bool parse(const char *from, uint64_t *numbers) {
  for (int i = 0; i < 11; i++) {
    while (*from == ' ')
      from++;
    if (*from < '0' || *from > '9')
      return false;
    for (numbers[i] = 0; *from >= '0' && *from <= '9'; from++)
      numbers[i] = numbers[i] * 10 + (uint64_t)(*from - '0');
  }
  return true;
}

static void publish(const char *from, uint64_t now_ns, uint32_t number,
                    struct smed_record *record) {
  uint64_t n[11];

  if (!parse(from, n))
    return;
  struct smed_sample sample = {
      .monotonic_ns = now_ns,
      .read_bytes = n[2] * SECTOR,
      .written_bytes = n[6] * SECTOR,
      .operations = n[0] + n[4],
      .busy_ms = n[3] + n[7],
      .request_ms = n[10],
      .in_flight = n[8],
  };
  smed_space_of(number, now_ns, &sample);
  smed_table_write(record, &sample);
}

/* Read diskstats, and find the names in it; false when it has no room here. */
static bool read_lines(void) {
  size_t length = 0;
  ssize_t more;

  line_count = 0;
  while ((more = pread(diskstats, text + length, sizeof(text) - 1 - length, (off_t)length)) > 0)
    length += (size_t)more;
  text[length] = '\0';
  for (const char *at = text; *at != '\0' && line_count < MAX_LINES;) {
    const char *end = strchr(at, '\n');

    at += strspn(at, " 0123456789"); /* major and minor; a name may begin with a digit, see below */
    lines[line_count++] = at;
    if (end == NULL)
      break;
    at = end + 1;
  }
  return length < sizeof(text) - 1 && line_count < MAX_LINES;
}

static bool is_at(const struct device *device, uint32_t line) {
  return line < line_count && strncmp(lines[line], device->name, device->name_length) == 0 &&
         lines[line][device->name_length] == ' ';
}

static bool find(struct device *device) {
  if (is_at(device, device->line))
    return true;
  for (uint32_t line = 0; line < line_count; line++)
    if (is_at(device, line)) {
      device->line = line;
      return true;
    }
  return false;
}

/* Whether reading all lines is worth it: names that begin with a digit are not found in them. */
static bool choose(char *const *names) {
  uint32_t there = 0;

  diskstats = open("/proc/diskstats", O_RDONLY | O_CLOEXEC);
  if (diskstats < 0 || !read_lines())
    return false;
  for (uint32_t i = 0; i < count; i++) {
    devices[i].name = names[i];
    devices[i].name_length = strlen(names[i]);
    there += find(&devices[i]);
    devices[i].name = NULL;
  }
  return 2 * there > line_count;
}

/* Open the stat file of a device; NULL, or what cannot be opened. */
static const char *open_stat(struct device *device) {
  static char path[128];
  const char *name = device->stat;

  snprintf(path, sizeof(path), name[0] == '/' ? "%s" : "/sys/class/block/%s/stat", name);
  device->file = open(path, O_RDONLY | O_CLOEXEC);
  return device->file < 0 ? path : NULL;
}

/* A device that went and came back has another file. */
static void open_again(struct device *device) {
  uint64_t now_ns = ses_now_ns();

  if (now_ns < device->again_ns)
    return;
  device->again_ns = now_ns + AGAIN_NS;
  if (device->file >= 0)
    close(device->file);
  open_stat(device);
}

const char *smed_devices_open(char *const *names, uint32_t watched) {
  count = watched;
  bool by_lines = choose(names);
  for (uint32_t i = 0; i < count; i++) {
    devices[i].name = names[i];
    if (by_lines && find(&devices[i]))
      continue;
    devices[i].name = NULL;
    devices[i].stat = names[i];
    const char *missing = open_stat(&devices[i]);
    if (missing != NULL)
      return missing;
  }
  if (!by_lines && diskstats >= 0) {
    close(diskstats);
    diskstats = -1;
  }
  return NULL;
}

void smed_devices_sample(struct smed_record *records) {
  bool there = diskstats >= 0 && read_lines();
  uint64_t now_ns = ses_now_ns();

  for (uint32_t i = 0; i < count; i++) {
    char own[512];
    struct device *device = &devices[i];

    if (device->name != NULL) {
      if (there && find(device))
        publish(lines[device->line] + device->name_length, now_ns, i, &records[i]);
      continue;
    }
    ssize_t length = pread(device->file, own, sizeof(own) - 1, 0);
    if (length <= 0) {
      open_again(device);
      continue;
    }
    own[length] = '\0';
    publish(own, ses_now_ns(), i, &records[i]);
  }
}
