/*
 * Which node holds a file, by the command `ses nodes of`.
 */
#ifndef SES_OFFLOAD_PLACE_H
#define SES_OFFLOAD_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* The address of the node that holds a file, as ses_offload_open takes it; false: with the reason.
 */
bool offload_node_of(const char *path, char *address, size_t room, char *reason,
                     size_t reason_room);

#endif /* SES_OFFLOAD_PLACE_H */
