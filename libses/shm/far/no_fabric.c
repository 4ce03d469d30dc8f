/* fabric.h without libfabric: no endpoint can be opened, so that the rest is never called. */
#include <errno.h>

#include "far/fabric.h"

int ses_fabric_open(const char *provider, const char *host, size_t room, int connection,
                    struct ses_fabric **fabric, struct ses_fabric_address *own) {
  (void)provider, (void)host, (void)room, (void)connection, (void)fabric, (void)own;
  return ENOTSUP;
}

int ses_fabric_meet(struct ses_fabric *fabric, const struct ses_fabric_address *peer) {
  (void)fabric, (void)peer;
  return ENOTSUP;
}

int ses_fabric_grow(struct ses_fabric *fabric, size_t room) {
  (void)fabric, (void)room;
  return ENOTSUP;
}

size_t ses_fabric_room(const struct ses_fabric *fabric) {
  (void)fabric;
  return 0;
}

void *ses_fabric_outgoing(struct ses_fabric *fabric) { return fabric; }
const void *ses_fabric_incoming(struct ses_fabric *fabric) { return fabric; }

int ses_fabric_send(struct ses_fabric *fabric, size_t bytes, uint64_t deadline_ns) {
  (void)fabric, (void)bytes, (void)deadline_ns;
  return EHOSTDOWN;
}

int ses_fabric_receive(struct ses_fabric *fabric, size_t *bytes, uint64_t deadline_ns) {
  (void)fabric, (void)deadline_ns;
  *bytes = 0;
  return EHOSTDOWN;
}

void ses_fabric_close(struct ses_fabric *fabric) { (void)fabric; }
