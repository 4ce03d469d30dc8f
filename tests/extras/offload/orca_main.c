/* A program as ORCA's Table I has it, of two files: what is registered in one is known in the
 * other. */
#include "orca_shared.h"

static void total(offloading_para *ins, offloading_para *outs) {
  struct list *list = ins->object;
  long *sum = outs->object;
  for (int i = 0; i < list->count; i++)
    *sum += list->change(list->values[i]);
}

static void whoami(offloading_para *ins, offloading_para *outs) {
  *(long *)outs->object = *(long *)ins->object + getpid();
}

int main(int argc, char **argv) {
  (void)argc;
  init();
  register_list();
  register_function(total);
  register_function(whoami);
  int words = 0;
  while (argv[words])
    words++;
  long none = 0, pid = 0, sum = 0;
  offloading_para zero = {"long", &none}, result = {"long", &pid};
  int status = offload_call("here", "whoami", &zero, &result);
  printf("first=%d\napart=%d\nwords=%d\n", status, pid > 0 && pid != getpid(), words);
  int values[] = {1, 2, 3};
  struct list list = {3, values, find_func(1)};
  offloading_para ins = {"list", &list}, outs = {"long", &sum};
  status = offload_call("here", "total", &ins, &outs);
  printf("list=%d %ld\n", status, sum);
  printf("names=%d %d\n", strcmp(find_name_by_func_addr(total), "total"),
         find_func_by_name("total") == total);
  list.change = NULL;
  status = offload_call("here", "total", &ins, &outs);
  printf("unwritten=%d %ld %s\n", status, sum, offload_error());
  list.change = find_func(1);
  status = offload_call("here", "nothing", &ins, &outs);
  printf("unknown=%d %s\n", status, offload_error());
  outs.type = "complex";
  status = offload_call("here", "total", &ins, &outs);
  printf("untyped=%d %s\n", status, offload_error());
  printf("again=%d %d\n", register_function(total), register_type("long", 8, marshal, unmarshal));
  return 0;
}
