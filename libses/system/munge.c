#include "system/munge.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SUCCESS 0
#define OPTION_SOCKET 8

/* As declared in munge.h, whose numbers and types do not change within libmunge.so.2. */
static struct {
  void *(*create)(void);
  void (*destroy)(void *);
  int (*set)(void *, int, ...);
  int (*encode)(char **, void *, const void *, int);
  int (*decode)(const char *, void *, void **, int *, uid_t *, gid_t *);
  const char *(*words)(int);
} munge;

static void load(void) {
  void *library = dlopen(SES_MUNGE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  *(void **)&munge.create = dlsym(library, "munge_ctx_create");
  *(void **)&munge.destroy = dlsym(library, "munge_ctx_destroy");
  *(void **)&munge.set = dlsym(library, "munge_ctx_set");
  *(void **)&munge.encode = dlsym(library, "munge_encode");
  *(void **)&munge.decode = dlsym(library, "munge_decode");
  *(void **)&munge.words = dlsym(library, "munge_strerror");
}

int ses_munge_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return munge.create && munge.destroy && munge.set && munge.encode && munge.decode && munge.words
             ? 0
             : ENOTSUP;
}

static int open_context(const char *socket, void **context) {
  int status = ses_munge_load();
  if (status != 0)
    return status;
  *context = munge.create();
  if (!*context)
    return ENOMEM;
  if (socket && *socket)
    munge.set(*context, OPTION_SOCKET, socket);
  return 0;
}

int ses_munge_make(const char *socket, const char *text, char *credential, size_t room,
                   const char **why) {
  void *context;
  char *encoded = NULL;
  int status = open_context(socket, &context);
  if (status != 0)
    return status;
  int result = munge.encode(&encoded, context, text, (int)strlen(text));
  if (result != SUCCESS || !encoded)
    status = EACCES;
  else if (strlen(encoded) >= room)
    status = EMSGSIZE;
  else
    strcpy(credential, encoded);
  if (why)
    *why = munge.words(result);
  free(encoded);
  munge.destroy(context);
  return status;
}

int ses_munge_check(const char *socket, const char *credential, const char *text, uid_t *user,
                    gid_t *group) {
  void *context, *payload = NULL;
  int bytes = 0;
  int status = open_context(socket, &context);
  if (status != 0)
    return status;
  if (munge.decode(credential, context, &payload, &bytes, user, group) != SUCCESS || !payload ||
      (size_t)bytes != strlen(text) || memcmp(payload, text, (size_t)bytes) != 0)
    status = EACCES;
  free(payload);
  munge.destroy(context);
  return status;
}
