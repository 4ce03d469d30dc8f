/* stranger PORT BYTES: send messages of so many BYTES to the endpoint of libfabric at this port of
 * 127.0.0.1, until it takes no more of them. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "remote/fabric.h"
#include "system/clock.h"

enum { COUNT = 20, MAX_MESSAGE = 1 << 20, WAIT_MS = 1000 };

int main(int argc, char **argv) {
  struct ses_fabric *fabric = NULL;
  struct ses_fabric_address own = {0}, peer = {.bytes = sizeof(struct sockaddr_in)};
  int pair[2];
  if (argc != 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    return 2;
  struct sockaddr_in there = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)atoi(argv[1])),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  memcpy(peer.at, &there, sizeof there);
  if (ses_fabric_open("tcp", "127.0.0.1", MAX_MESSAGE, pair[0], &fabric, &own) != 0 ||
      ses_fabric_meet(fabric, &peer) != 0)
    return 1;
  int left = COUNT;
  while (left > 0 && ses_fabric_send(fabric, (size_t)atoi(argv[2]), ses_in_ms(WAIT_MS)) == 0)
    left--;
  printf("%d\n", COUNT - left);
  ses_fabric_close(fabric);
  return 0;
}
