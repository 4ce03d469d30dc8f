/* The class of Python that shows a record, by the names of its members. */
#include "modules.h"

#include "rows.h"

namespace ses::state {

namespace {

struct Member {
  const char *name;
  py::object (*get)(const Placement &);
  void (*set)(Placement &, py::handle);
};

template <auto member> constexpr Member plain_member(const char *name) {
  return {name, [](const Placement &placement) { return out(placement.*member); },
          [](Placement &placement, py::handle value) { in(value, placement.*member); }};
}

py::object handle_or_empty(const Handle &handle) { return handle ? out(handle) : py::tuple(); }

/* Another explanation with one part changed: others may have the one there is. */
template <class Change> void explain(Placement &placement, Change change) {
  auto why = placement.why ? std::make_shared<Why>(*placement.why) : std::make_shared<Why>();
  change(*why);
  placement.why = std::move(why);
}

void set_requirements(Placement &placement, py::handle value) {
  explain(placement, [&](Why &why) { why_of_requirements(why, value); });
}

py::object get_notes(const Placement &placement) {
  auto notes = placement.notes;
  if (placement.why && placement.why_notes)
    notes.insert(notes.end(), placement.why->notes.begin(), placement.why->notes.end());
  return out(notes);
}

/* In the order of Python's class. */
constexpr Member members[] = {
    {"placement_id", [](const Placement &placement) { return out(text_of(placement.id)); },
     [](Placement &placement, py::handle value) {
       std::string text;
       in(value, text);
       auto id = id_of(text);
       if (!id)
         throw py::value_error("no id of a placement: " + text);
       placement.id = *id;
     }},
    plain_member<&Placement::subject>("subject"),
    {"element", [](const Placement &placement) { return out(placement.elements.at(0)); },
     [](Placement &placement, py::handle value) {
       ElementPtr element;
       in(value, element);
       if (placement.elements.empty())
         placement.elements.push_back(element);
       else
         placement.elements[0] = element;
     }},
    plain_member<&Placement::backend>("backend"),
    plain_member<&Placement::distance>("distance"),
    plain_member<&Placement::placed_at>("placed_at"),
    plain_member<&Placement::lease_until>("lease_until"),
    plain_member<&Placement::predicted>("predicted"),
    {"requirements",
     [](const Placement &placement) {
       return handle_or_empty(placement.why ? placement.why->requirements : nullptr);
     },
     set_requirements},
    {"candidates",
     [](const Placement &placement) {
       return handle_or_empty(placement.why ? placement.why->candidates : nullptr);
     },
     [](Placement &placement, py::handle value) {
       explain(placement, [&](Why &why) { why.candidates = handle_of(value); });
     }},
    {"refused",
     [](const Placement &placement) {
       return handle_or_empty(placement.why ? placement.why->refused : nullptr);
     },
     [](Placement &placement, py::handle value) {
       explain(placement, [&](Why &why) { why.refused = handle_of(value); });
     }},
    plain_member<&Placement::rank>("rank"),
    plain_member<&Placement::batch_number>("batch_number"),
    plain_member<&Placement::batch_size>("batch_size"),
    {"notes", get_notes,
     [](Placement &placement, py::handle value) {
       in(value, placement.notes);
       placement.why_notes = false;
     }},
    {"stripes",
     [](const Placement &placement) {
       return placement.elements.size() > 1 ? out(placement.elements) : py::tuple();
     },
     [](Placement &placement, py::handle value) {
       if (py::len(value) > 0)
         in(value, placement.elements);
       else if (placement.elements.size() > 1)
         placement.elements.resize(1);
     }},
    plain_member<&Placement::stripe_count>("stripe_count"),
    plain_member<&Placement::stripe_size>("stripe_size"),
    plain_member<&Placement::decided_by>("decided_by"),
    plain_member<&Placement::expected_bytes>("expected_bytes"),
    plain_member<&Placement::expected_from>("expected_from"),
    {"state",
     [](const Placement &placement) {
       return member_of("PlacementState", placement.ended ? "ended" : "open");
     },
     [](Placement &placement, py::handle value) {
       placement.ended = value.attr("value").cast<std::string>() == "ended";
     }},
    plain_member<&Placement::path>("path"),
    plain_member<&Placement::device>("device"),
    plain_member<&Placement::inode>("inode"),
    plain_member<&Placement::pid>("pid"),
    plain_member<&Placement::opened_at>("opened_at"),
    plain_member<&Placement::idle>("idle"),
    plain_member<&Placement::resumed_at>("resumed_at"),
    plain_member<&Placement::ended_at>("ended_at"),
    plain_member<&Placement::end_reason>("end_reason"),
    plain_member<&Placement::bytes_written>("bytes_written"),
    plain_member<&Placement::achieved>("achieved"),
    plain_member<&Placement::file_verdict>("file_verdict"),
    {"held",
     [](const Placement &placement) {
       return placement.held ? out(placement.held->object) : py::none();
     },
     [](Placement &placement, py::handle value) {
       if (value.is_none())
         return placement.held.reset();
       auto held = std::make_shared<Held>();
       held->object = handle_of(value);
       in(class_of("held_text")(value), held->row);
       placement.held = held;
     }},
};
constexpr std::size_t needed = 7; /* members without a default */

void set(Placement &placement, std::string_view name, py::handle value) {
  for (const auto &member : members)
    if (name == member.name)
      return member.set(placement, value);
  throw py::type_error("a placement has no " + std::string(name));
}

PlacementPtr make(const py::args &args, const py::kwargs &kwargs) {
  auto made = std::make_shared<Placement>();
  if (args.size() > std::size(members))
    throw py::type_error("too many values of a placement");
  for (std::size_t at = 0; at < args.size(); at++)
    members[at].set(*made, args[at]);
  /* In their own order: "stripes" have "element" as the first. */
  std::size_t given = 0;
  for (std::size_t at = 0; at < std::size(members); at++) {
    const char *name = members[at].name;
    if (kwargs.contains(name)) {
      members[at].set(*made, kwargs[name]);
      given++;
    } else if (at >= args.size() && at < needed) {
      throw py::type_error(std::string("a placement needs ") + name);
    }
  }
  if (given != kwargs.size())
    throw py::type_error("a placement has no such member");
  return made;
}

PlacementPtr replaced(const Placement &placement, const py::kwargs &changes) {
  auto made = std::make_shared<Placement>(placement);
  for (auto [name, value] : changes)
    set(*made, name.cast<std::string>(), value);
  return made;
}

bool equal(const Placement &first, const Placement &second) {
  if (&first == &second)
    return true;
  for (const auto &member : members)
    if (!member.get(first).equal(member.get(second)))
      return false;
  return true;
}

std::string shown(const Placement &placement) {
  std::string text = "Placement(";
  for (const auto &member : members)
    text += std::string(text.back() == '(' ? "" : ", ") + member.name + "=" +
            py::repr(member.get(placement)).cast<std::string>();
  return text + ")";
}

} // namespace

void why_of_requirements(Why &why, py::handle requirements) {
  why.requirements = handle_of(requirements);
  why.required.clear();
  why.rate = why.hard_rate = 0.0;
  for (py::handle requirement : requirements) {
    auto stated = requirement.attr("requirement");
    auto &required = why.required.emplace_back();
    in(stated.attr("kind"), required.kind);
    in(stated.attr("bound"), required.bound);
    required.hard = stated.attr("strictness").attr("value").cast<std::string>() == "hard";
    if (required.kind->predicts != Predicts::write &&
        required.kind->predicts != Predicts::average_write)
      continue;
    why.rate = std::max(why.rate, required.bound);
    if (required.hard)
      why.hard_rate = std::max(why.hard_rate, required.bound);
  }
}

void bind_placement(py::module_ &module) {
  py::class_<Placement, PlacementPtr> bound(module, "Placement");
  bound.def(py::init(&make));
  for (const auto &member : members)
    bound.def_property_readonly(member.name, member.get);
  bound.def_property_readonly("elements", [](const Placement &placement) {
    py::tuple names(placement.elements.size());
    for (std::size_t at = 0; at < placement.elements.size(); at++)
      names[at] = out(placement.elements[at]->id);
    return names;
  });
  bound.def_property_readonly(
      "node", [](const Placement &placement) { return out(placement.subject->node); });
  bound.def_property_readonly(
      "is_judged", [](const Placement &placement) { return placement.file_verdict != nullptr; });
  bound.def("replaced", &replaced);
  bound.def("__eq__", &equal, py::is_operator());
  bound.def("__repr__", &shown);
  bound.attr("__hash__") = py::none();
  py::tuple names(std::size(members));
  for (std::size_t at = 0; at < names.size(); at++)
    names[at] = members[at].name;
  bound.attr("__match_args__") = names;
}

} // namespace ses::state
