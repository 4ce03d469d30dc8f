#include "far/credential.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libmunge.so.2"
#define SUCCESS 0
#define OPTION_SOCKET 8

static struct {
  void *(*create)(void);
  void (*destroy)(void *);
  int (*set)(void *, int, ...);
  int (*encode)(char **, void *, const void *, int);
  int (*decode)(const char *, void *, void **, int *, uid_t *, gid_t *);
} munge;

static void load(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  *(void **)&munge.create = dlsym(library, "munge_ctx_create");
  *(void **)&munge.destroy = dlsym(library, "munge_ctx_destroy");
  *(void **)&munge.set = dlsym(library, "munge_ctx_set");
  *(void **)&munge.encode = dlsym(library, "munge_encode");
  *(void **)&munge.decode = dlsym(library, "munge_decode");
}

static int open_context(void **context) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (!munge.create || !munge.destroy || !munge.set || !munge.encode || !munge.decode)
    return ENOTSUP;
  const char *socket = secure_getenv("SES_MUNGE_SOCKET");
  *context = munge.create();
  if (!*context)
    return ENOMEM;
  if (socket && *socket)
    munge.set(*context, OPTION_SOCKET, socket);
  return 0;
}

int ses_credential_make(const char *text, char *credential, size_t room) {
  void *context;
  char *made = NULL;
  int status = open_context(&context);
  if (status != 0)
    return status;
  if (munge.encode(&made, context, text, (int)strlen(text)) != SUCCESS || !made)
    status = EACCES;
  else if (strlen(made) >= room)
    status = EMSGSIZE;
  else
    strcpy(credential, made);
  free(made);
  munge.destroy(context);
  return status;
}

int ses_credential_check(const char *credential, const char *text, uid_t *user, gid_t *group) {
  void *context, *said = NULL;
  int bytes = 0;
  int status = open_context(&context);
  if (status != 0)
    return status;
  bool proven = munge.decode(credential, context, &said, &bytes, user, group) == SUCCESS && said &&
                (size_t)bytes == strlen(text) && memcmp(said, text, (size_t)bytes) == 0;
  free(said);
  munge.destroy(context);
  return proven ? 0 : EACCES;
}
