/* Built where there are no headers of libfabric: no one-sided reads, and the caller is told so. */
#include "fabric.h"

#define WHY "smed was built without libfabric"

void smed_fabric_prepare(void) {}

struct smed_fabric *smed_fabric_show(const char *provider, const char *host, void *memory,
                                     size_t bytes, struct smed_window *window, const char **why) {
  (void)provider, (void)host, (void)memory, (void)bytes, (void)window;
  *why = WHY;
  return NULL;
}

struct smed_fabric *smed_fabric_look(const struct smed_window *window, const char *host,
                                     const char **why) {
  (void)window, (void)host;
  *why = WHY;
  return NULL;
}

/* Nobody has an endpoint to call these with. */
void smed_fabric_progress(struct smed_fabric *fabric) { (void)fabric; }
void smed_fabric_serve(struct smed_fabric *fabric, const volatile int *ending) {
  (void)fabric, (void)ending;
}
bool smed_fabric_begin(struct smed_fabric *fabric) { return fabric != NULL; }
int smed_fabric_done(struct smed_fabric *fabric) { return fabric == NULL ? -1 : 0; }
const void *smed_fabric_bytes(const struct smed_fabric *fabric) { return fabric; }
bool smed_fabric_can_write(struct smed_fabric *fabric) { return fabric != NULL; }
void smed_fabric_close(struct smed_fabric *fabric) { (void)fabric; }
