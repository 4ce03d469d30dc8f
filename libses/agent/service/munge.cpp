#include "service/munge.h"

#include <dlfcn.h>

#include <cstdlib>

namespace ses::agent {
namespace {

constexpr const char *kLibrary = "libmunge.so.2";
constexpr int kSuccess = 0;
constexpr int kOptionSocket = 8;

template <typename Function> bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

} // namespace

std::unique_ptr<Munge> Munge::load(const std::string &socket, std::string &why) {
  Calls calls;
  void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || !find(library, "munge_ctx_create", calls.create) ||
      !find(library, "munge_ctx_destroy", calls.destroy) ||
      !find(library, "munge_ctx_set", calls.set) || !find(library, "munge_encode", calls.encode) ||
      !find(library, "munge_strerror", calls.words)) {
    const char *error = dlerror();
    why = std::string("--munge needs ") + kLibrary + ", which cannot be loaded (" +
          (error != nullptr ? error : "no reason given") + "); install libmunge2 and munge";
    return nullptr;
  }
  return std::unique_ptr<Munge>(new Munge(calls, socket));
}

std::string Munge::encode(const std::string &payload, std::string &why) const {
  void *context = calls_.create();
  if (context == nullptr) {
    why = "no memory for a MUNGE credential";
    return "";
  }
  if (!socket_.empty()) {
    (void)calls_.set(context, kOptionSocket, socket_.c_str());
  }
  char *made = nullptr;
  const int status =
      calls_.encode(&made, context, payload.data(), static_cast<int>(payload.size()));
  calls_.destroy(context);
  std::string credential = status == kSuccess && made != nullptr ? made : "";
  std::free(made);
  if (credential.empty()) {
    why = std::string("munged of this node makes no credential: ") + calls_.words(status);
  }
  return credential;
}

} // namespace ses::agent
