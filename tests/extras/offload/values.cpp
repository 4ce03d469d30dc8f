/* Says in "name=value" lines what the C++ interface does. */
#include <iostream>
#include <ses/offload.hpp>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

struct Item {
  std::string name;
  std::vector<double> values;
  std::vector<Item> parts;
  bool wanted = false;
};
template <> struct ses::offload::Members<Item> {
  static constexpr auto list =
      std::make_tuple(&Item::name, &Item::values, &Item::parts, &Item::wanted);
};

static Item grown(const Item &item, int by) {
  Item result = item;
  result.name += " of " + std::to_string(getpid());
  for (double &value : result.values)
    value += by;
  result.parts.push_back(item);
  return result;
}
static long long negated(long long number) { return -number; }
static void refuse(int number) { throw ses::offload::Failure(number, "as asked"); }
static void lose() { throw std::runtime_error("lost it"); }
static void wait_for_ever() {
  while (!ses_offload_is_cancelled())
    usleep(1000);
}
static void never_added() {}

/* Where the file lies: in a process of its own, or why not. */
static void say_where(const char *file) {
  auto store = ses::offload::Domain::of_file(file);
  auto result = store.call<grown>(Item{"a", {}, {}, false}, 1);
  std::cout << "file=" << static_cast<bool>(store) << " " << store.status() << " "
            << (result && result->name != "a of " + std::to_string(getpid())) << " "
            << store.reason() << "\n";
}

int main(int argc, char **argv) {
  using namespace ses::offload;
  ses_offload_init(&argc, &argv);
  add<grown>("grown");
  add<negated>("negated");
  add<refuse>("refuse");
  add<lose>("lose");
  add<wait_for_ever>("wait_for_ever");
  ses_offload_serve();
  if (argc > 1) {
    say_where(argv[1]);
    return 0;
  }

  Domain here("here");
  const Item item{"a", {1.5, 2}, {{"b", {}, {}, true}}, false};
  if (auto result = here.call<grown>(item, 3))
    std::cout << "grown="
              << (result->name != "a of " + std::to_string(getpid()) && result->name.size() > 5)
              << " " << result->values[1] << " " << result->parts.size() << " "
              << result->parts[0].wanted << result->parts[1].wanted << " "
              << result->parts[1].parts[0].name << "\n";
  auto first = here.start<negated>(1LL << 62);
  auto second = here.start<negated>(5);
  std::cout << "futures=" << *second.get() << " " << (*first.get() == -(1LL << 62)) << " "
            << first.get().status() << "\n";
  auto refused = here.call<refuse>(42);
  std::cout << "refused=" << !refused << " " << refused.status() << " " << refused.number() << " "
            << refused.message() << "\n";
  std::cout << "lost=" << here.call<lose>().message() << "\n";
  auto waits = here.start<wait_for_ever>();
  std::cout << "waits=" << waits.ready() << " " << waits.get(0.01).status() << "\n";
  waits.cancel();
  std::cout << "cancelled=" << waits.get().status() << "\n";
  std::cout << "after=" << here.call<refuse>(0).number() << "\n";
  std::cout << "unknown=" << here.call<never_added>().status() << "\n";
  Domain nowhere("command:nowhere");
  std::cout << "nowhere=" << !nowhere << " " << nowhere.status() << " "
            << nowhere.call<lose>().status() << "\n";
  std::vector<Item> deep(1);
  for (int i = 0; i < 1100; i++) {
    std::vector<Item> outer(1);
    outer[0].parts = std::move(deep);
    deep = std::move(outer);
  }
  std::cout << "deep=" << here.call<grown>(deep[0], 1).status() << "\n";
}
