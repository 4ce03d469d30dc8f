/* What both files of the program know. */
#include <stdio.h>
#include <unistd.h>

#include "ses/orca.h"

#ifdef __cplusplus
extern "C" {
#endif
struct list {
  int count;
  int *values;
  int (*change)(int);
};
void register_list(void);
int (*find_func(int which))(int);
void marshal(void *object, char **buf, int *len);
void unmarshal(void *object, char *buf, int len);
#ifdef __cplusplus
}
#endif
