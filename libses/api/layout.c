/*
 * ses_layout: where a file lies on Lustre, read from its extended attribute.
 *
 * Does NOT follow how a layout changes: it is as it was when it was read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "lustre/layout.h"
#include "ses/ses.h"

#define LAYOUT_MAX 65536 /* bytes; what an extended attribute may have */

_Static_assert(sizeof(ses_component) == 128, "the size of a component is part of the ABI");
_Static_assert(SES_LOV_POOL_SIZE < sizeof(((ses_component *)0)->pool), "every pool's name fits");

struct ses_layout {
  struct ses_lov lov;
  unsigned char bytes[];
};

static ses_layout *take(const unsigned char *bytes, size_t size) {
  ses_layout *layout = malloc(sizeof *layout + size);
  if (!layout)
    return NULL;
  memcpy(layout->bytes, bytes, size);
  if (ses_lov_read(&layout->lov, layout->bytes, size) != 0) {
    free(layout);
    errno = EINVAL;
    return NULL;
  }
  return layout;
}

ses_layout *ses_layout_read(const char *path) {
  unsigned char *bytes = malloc(LAYOUT_MAX);
  if (!bytes)
    return NULL;
  ssize_t size = getxattr(path, "lustre.lov", bytes, LAYOUT_MAX);
  ses_layout *layout = size < 0 ? NULL : take(bytes, (size_t)size);
  int error = errno;
  free(bytes);
  errno = error;
  return layout;
}

void ses_layout_free(ses_layout *layout) { free(layout); }

unsigned ses_layout_components(const ses_layout *layout) {
  return layout ? layout->lov.components : 0;
}

int ses_layout_component(const ses_layout *layout, unsigned number, ses_component *component) {
  struct ses_lov_component lov_component;
  memset(component, 0, sizeof *component);
  if (!layout || !ses_lov_component(&layout->lov, number, &lov_component)) {
    errno = EINVAL;
    return -1;
  }
  component->start = lov_component.start;
  component->end = lov_component.end;
  component->stripe_size = lov_component.stripe_size;
  component->stripe_count = lov_component.stripe_count;
  component->on_metadata_server = (lov_component.pattern & SES_LOV_PATTERN_MDT) != 0;
  component->osts = component->on_metadata_server ? 0 : lov_component.objects;
  memcpy(component->pool, lov_component.pool, sizeof lov_component.pool);
  return 0;
}

unsigned ses_layout_osts(const ses_layout *layout, unsigned number, uint32_t *osts, unsigned room) {
  struct ses_lov_component lov_component;
  if (!layout || !ses_lov_component(&layout->lov, number, &lov_component) ||
      lov_component.pattern & SES_LOV_PATTERN_MDT)
    return 0;
  for (unsigned i = 0; i < lov_component.objects && i < room; i++)
    osts[i] = ses_lov_ost(&lov_component, i);
  return lov_component.objects;
}
