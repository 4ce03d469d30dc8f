/* The ledger for Python. */
#include "ledger.h"
#include "modules.h"
#include "pattern.h"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace ses::state {

namespace {

Id id_in(std::string_view text) {
  auto id = id_of(text);
  if (!id)
    throw py::value_error("no id of a placement: " + std::string(text));
  return *id;
}

py::list texts(const std::vector<Id> &ids) {
  py::list made(ids.size());
  for (std::size_t at = 0; at < ids.size(); at++)
    made[at] = text_of(ids[at]);
  return made;
}

/* What the files of a decision share, of its explanation and where its expected size is from. */
WhyPtr why_in(const py::object &explained, const py::object &expected_from) {
  auto why = std::make_shared<Why>();
  why_of_requirements(*why, explained.attr("requirements"));
  why->candidates = handle_of(explained.attr("candidates"));
  why->refused = handle_of(explained.attr("refused"));
  in(explained.attr("notes"), why->notes);
  for (auto [element, rank] : explained.attr("ranks").cast<py::dict>())
    why->ranks[element.cast<std::string>()] = rank.cast<int>();
  in(expected_from, why->expected_from);
  return why;
}

Ledger::Explain explain_in(const py::object &explain) {
  return [explain](std::int64_t decision, const std::string &user) -> WhyPtr {
    py::object why = explain(decision, out(user));
    return why.is_none() ? nullptr : why_in(why[py::int_(0)], why[py::int_(1)]);
  };
}

/* Records as they were at one moment; made into objects of Python one by one, by who looks at them.
 */
struct Records {
  std::vector<PlacementPtr> kept;
};

void bind_changes(py::module_ &module) {
  py::class_<Changes, std::shared_ptr<Changes>>(module, "Changes")
      .def("__len__", [](const Changes &changes) { return changes.size(); })
      .def("__contains__", [](const Changes &changes,
                              const std::string &id) { return changes.contains(id_in(id)); })
      .def("__iter__",
           [](const Changes &changes) {
             return py::iter(texts(std::vector<Id>(changes.begin(), changes.end())));
           })
      .def("clear", [](Changes &changes) { changes.clear(); })
      .def("update", [](Changes &changes, const py::iterable &ids) {
        for (py::handle id : ids)
          changes.insert(id_in(id.cast<std::string>()));
      });
  py::class_<Records>(module, "Records")
      .def("__len__", [](const Records &records) { return records.kept.size(); })
      .def(
          "__iter__",
          [](const Records &records) {
            return py::make_iterator(records.kept.begin(), records.kept.end());
          },
          py::keep_alive<0, 1>());
}

void bind_reports(py::module_ &module) {
  py::class_<Files, std::shared_ptr<Files>>(module, "Files")
      .def(py::init<>())
      .def("__eq__", [](const Files &files, const Files &other) { return files == other; })
      .def("__len__", [](const Files &files) { return files.opened.size() + files.ended.size(); })
      .def_property_readonly("opened_ids", [](const Files &files) {
        py::set ids;
        for (const auto &report : files.opened)
          ids.add(py::str(text_of(report.id)));
        return ids;
      });
}

/* Whose the files are and of which pattern; whether they are places; whether they are as large in
 * the end, and when the last ended; their sizes.  Of those that come first and are alike. */
py::tuple take_alike(std::deque<Size> &sizes, std::size_t &limit) {
  auto pattern = [](const Size &size) {
    const auto &path = size.placement->path;
    return path ? Text(pattern_of(*path)) : Text();
  };
  auto kind = [](const Size &size) {
    const auto &placement = *size.placement;
    return std::tuple(placement.held != nullptr, placement.ended_at.has_value(), size.known);
  };
  const auto first = sizes.front();
  const auto pattern_first = pattern(first);
  const auto &subject = *first.placement->subject;
  Number last;
  py::list bytes;
  do {
    bytes.append(sizes.front().bytes);
    last = sizes.front().placement->ended_at;
    sizes.pop_front();
    limit--;
  } while (limit > 0 && !sizes.empty() && kind(sizes.front()) == kind(first) &&
           sizes.front().placement->subject->user == subject.user &&
           sizes.front().placement->subject->application == subject.application &&
           pattern(sizes.front()) == pattern_first);
  return py::make_tuple(out(subject.user), out(subject.application), out(pattern_first),
                        first.placement->held != nullptr, first.known, out(last), bytes);
}

void raise(const LedgerError &error) {
  static constexpr const char *classes[] = {"LedgerError", "UnknownPlacementError",
                                            "PlacementEndedError", "NotYoursError"};
  py::set_error(class_of(classes[error.kind]), error.what());
}

} // namespace

void bind_ledger(py::module_ &module) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown)
        std::rethrow_exception(thrown);
    } catch (const LedgerError &error) {
      raise(error);
    }
  });
  bind_counts(module);
  bind_changes(module);
  bind_reports(module);
  py::class_<Ledger>(module, "Ledger")
      .def(py::init([](std::size_t max_records, std::size_t max_untaken, const FileBounds &bounds) {
        return std::make_unique<Ledger>(Limits{max_records, max_untaken}, bounds);
      }))
      .def("__len__", &Ledger::size)
      .def("_hook",
           [](Ledger &ledger, py::function settle, py::function taken_over, py::function left,
              py::function reported) {
             ledger.hooks.settle = [settle](Id id, double now) { settle(text_of(id), now); };
             ledger.hooks.taken_over = [taken_over](Id id, double now) {
               taken_over(text_of(id), now);
             };
             ledger.hooks.left = [left](const Placement &placement) {
               left(out(placement.subject->node), text_of(placement.id));
             };
             ledger.hooks.reported = [reported](const PlacementPtr &opened,
                                                const PlacementPtr &before, const Number &bytes) {
               return reported(opened, before, bytes).cast<PlacementPtr>();
             };
           })
      .def("_describe",
           [](Ledger &ledger, const py::iterable &elements,
              std::unordered_map<std::string, std::string> backends,
              std::unordered_map<std::string, std::string> home_vo) {
             std::vector<ElementPtr> known;
             for (py::handle element : elements)
               in(element, known.emplace_back());
             ledger.describe(std::move(known), std::move(backends), std::move(home_vo));
           })
      .def("_count_again", &Ledger::count_again)
      .def("find",
           [](const Ledger &ledger, const std::string &id) {
             auto known = id_of(id);
             return known ? ledger.find(*known) : nullptr;
           })
      .def("get",
           [](const Ledger &ledger, const std::string &id) {
             if (auto known = id_of(id))
               return ledger.get(*known);
             throw LedgerError(LedgerError::unknown, "no placement " + id + " is known");
           })
      .def("known",
           [](const Ledger &ledger, const py::iterable &ids) {
             py::list known;
             for (py::handle id : ids)
               if (auto number = id_of(id.cast<std::string>()); number && ledger.find(*number))
                 known.append(id);
             return known;
           })
      .def("restore", &Ledger::restore)
      .def("_change", &Ledger::change)
      .def(
          "end",
          [](Ledger &ledger, const std::string &id, py::handle reason, double now,
             const Number &bytes_written, const Text &path, py::handle achieved) {
            Ended ended{id_in(id), EndReason::closed, bytes_written, path, nullptr};
            in(reason, ended.reason);
            in(achieved, ended.achieved);
            return ledger.end(ended, now);
          },
          py::arg("placement_id"), py::arg("reason"), py::arg("now"),
          py::arg("bytes_written") = py::none(), py::arg("path") = py::none(),
          py::arg("achieved") = py::none())
      .def("keep_verdict",
           [](Ledger &ledger, const PlacementPtr &placement, py::handle verdict) {
             FileVerdictPtr judged;
             in(verdict, judged);
             return ledger.keep_verdict(placement, judged);
           })
      .def("release", [](Ledger &ledger, const std::string &id,
                         double now) { ledger.release(id_in(id), now); })
      .def("inherit", [](Ledger &ledger, const PlacementPtr &stored) { ledger.inherit(*stored); })
      .def("store_again", [](Ledger &ledger, const std::string &id) { ledger.note(id_in(id)); })
      .def("_expire", &Ledger::expire)
      .def("_take",
           [](Ledger &ledger, const Files &files, const std::string &node, double now,
              const py::object &explain) {
             auto taken = ledger.take(files, node, now, explain_in(explain));
             py::list refused;
             for (const auto &refusal : taken.refused)
               refused.append(py::make_tuple(text_of(refusal.id), out(refusal.why)));
             return py::make_tuple(texts(taken.unknown), refused, texts(taken.inherited));
           })
      .def("_open_on", [](const Ledger &ledger,
                          const std::string &node) { return texts(ledger.open_on(node)); })
      .def("count_open_on", &Ledger::count_open_on)
      .def("streams",
           [](const Ledger &ledger) {
             py::dict streams;
             for (const auto &[node, ids] : ledger.streams())
               streams[out(node)] = ids.size();
             return streams;
           })
      .def("is_ended_by_node",
           [](const Ledger &ledger, const std::string &id) {
             return ledger.is_ended_by_node(id_in(id));
           })
      .def("is_own",
           [](const Ledger &ledger, const std::string &id) {
             auto placement = ledger.find(id_in(id));
             return placement && (!placement->ended || ledger.is_ended_by_node(placement->id));
           })
      .def(
          "records",
          [](const Ledger &ledger, const Text &user) { return Records{ledger.records(user)}; },
          py::arg("user") = py::none())
      .def("ids", [](const Ledger &ledger) { return texts(ledger.ids()); })
      .def("follow", &Ledger::follow)
      .def("take_changes",
           [](const Ledger &ledger, Changes &changes, std::size_t limit) {
             auto taken = ledger.take_changes(changes, limit);
             py::list made(taken.size());
             for (std::size_t at = 0; at < taken.size(); at++)
               made[at] = py::make_tuple(text_of(taken[at].first), taken[at].second);
             return made;
           })
      .def("take_sizes",
           [](Ledger &ledger, std::size_t limit) {
             py::list taken;
             while (limit > 0 && !ledger.sizes.empty())
               taken.append(take_alike(ledger.sizes, limit));
             return taken;
           })
      .def("count_to_judge", [](const Ledger &ledger) { return ledger.to_judge.size(); })
      .def("note_peer",
           [](Ledger &ledger, const std::string &id, bool is_there) {
             if (is_there)
               ledger.of_peers.insert(id_in(id));
             else
               ledger.of_peers.erase(id_in(id));
           })
      .def("places_of_user",
           [](const Ledger &ledger, const std::string &user) {
             auto there = ledger.places_of.find(user);
             return there == ledger.places_of.end() ? 0 : there->second;
           })
      .def_property_readonly("ended_total",
                             [](const Ledger &ledger) {
                               py::dict totals;
                               for (std::size_t at = 0; at < end_reasons; at++)
                                 if (ledger.ended_total[at] > 0)
                                   totals[out(static_cast<EndReason>(at))] = ledger.ended_total[at];
                               return totals;
                             })
      .def_readonly("counter", &Ledger::counter)
      .def_readonly("bounds", &Ledger::bounds)
      .def_readonly("recent", &Ledger::recent);
}

} // namespace ses::state
