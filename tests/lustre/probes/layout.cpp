// layout FILE...: what the C++ interface says about where each file lies.
#include <cstdio>
#include <ses/ses.hpp>

int main(int argc, char **argv) {
  const LustreManager manager;
  for (int i = 1; i < argc; i++) {
    const ses::Layout layout = manager.layout(argv[i]);
    std::printf("error=%d components=%u", layout.error(), layout.components());
    for (unsigned n = 0; n < layout.components(); n++) {
      const ses_component component = layout.component(n);
      std::printf(" [%llu,%llu) count=%u pool=%s mdt=%d osts=",
                  static_cast<unsigned long long>(component.start),
                  static_cast<unsigned long long>(component.end), component.stripe_count,
                  component.pool, component.on_metadata_server);
      for (const std::uint32_t ost : layout.osts(n)) {
        std::printf("%u,", ost);
      }
    }
    std::printf("\n");
  }
  return 0;
}
