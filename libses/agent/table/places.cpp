#include "table/places.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "lustre/placement.h"

namespace ses::agent {
namespace {

template <size_t N> bool put(char (&field)[N], const std::string &text) {
  std::memcpy(field, text.data(), std::min(text.size(), N - 1));
  return text.size() < N;
}

template <size_t N> std::string text_in(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

bool put_on_lustre(const std::string &system, const std::string &target, const LustreHealth &lustre,
                   ses_lustre_form form, ses_table_place &place, std::string &why) {
  Placement placement;
  placement.backend = SES_BACKEND_LUSTRE;
  bool usable = place_on_lustre({target}, placement);
  place.index = placement.osts.empty() ? 0 : placement.osts.front();
  why = usable ? lustre.trouble_of(system, placement) : "its target names no OST and no pool";
  lustre.write_as(form, system, placement);
  place.lustre_form = placement.lustre_form;
  return put(place.pool, placement.pool) && put_members(place.members, placement.members) &&
         why.empty();
}

} // namespace

Places places_of(const StorageSystem &system, const TableFacts &facts, const LustreHealth &lustre,
                 const UnionHealth &unions, ses_lustre_form form) {
  const bool is_lustre = system.backend == SES_BACKEND_LUSTRE;
  const bool is_known = is_lustre ? lustre.has_looked_at(system.name)
                                  : system.backend == SES_BACKEND_MERGERFS &&
                                        unions.has_looked_at(system.mount_point);
  Places places{std::vector<ses_table_place>(facts.rows.size()),
                is_known,
                is_known ? 0 : ~uint64_t{0},
                {},
                is_lustre};
  const Union seen = is_lustre ? Union() : unions.seen(system.mount_point);
  for (size_t row = 0; row < facts.rows.size(); ++row) {
    ses_table_place &place = places.rows[row];
    const std::string &target = facts.rows[row].target;
    bool usable = put(place.element, facts.rows[row].element);
    std::string &why = places.why.emplace_back();
    if (is_lustre) {
      usable = put_on_lustre(system.name, target, lustre, form, place, why) && usable;
    } else {
      why = trouble_of(seen, system.mount_point, {target, facts.rows[row].file_system});
      usable = put(place.branch, target) && usable && why.empty();
    }
    if (!usable && why.empty()) {
      why = "its name, or that of its target, is too long";
    }
    places.excluded |= usable ? 0 : uint64_t{1} << row;
  }
  return places;
}

std::vector<uint16_t> osts_of(const Places &places, uint64_t rows) {
  std::vector<uint16_t> osts;
  for (size_t row = 0; row < places.rows.size(); ++row) {
    const ses_table_place &place = places.rows[row];
    if ((rows >> row & 1) != 0 && place.lustre_form != SES_LUSTRE_POOL) {
      osts.push_back(static_cast<uint16_t>(place.index));
    } else if ((rows >> row & 1) != 0) {
      for (uint16_t ost = 0; ost < SES_MEMBERS_MAX; ++ost) {
        if ((place.members[ost / 64] >> ost % 64 & 1) != 0) {
          osts.push_back(ost);
        }
      }
    }
  }
  return osts;
}

TableFacts left_in(const ses_table_system &system) {
  TableFacts facts;
  for (uint32_t row = 0; row < std::min<uint32_t>(system.count, SES_TABLE_ELEMENTS); ++row) {
    facts.rows.push_back({});
    facts.rows.back().element = text_in(system.places[row].element);
    if (system.backend == SES_BACKEND_MERGERFS) {
      facts.rows.back().target = text_in(system.places[row].branch);
    }
  }
  return facts;
}

void log_changes(const TableFacts &facts, const Places &places,
                 std::map<std::string, std::string> &logged) {
  if (!places.known || places.of_lustre) { // LustreHealth logs of its own
    return;
  }
  for (size_t row = 0; row < places.why.size(); ++row) {
    const std::string &element = facts.rows[row].element, &why = places.why[row];
    std::string &known = logged[element];
    if (known != why && why.empty()) {
      spdlog::info("{} takes files again", element);
    } else if (known != why) {
      spdlog::warn("{} takes no file: {}", element, why);
    }
    known = why;
  }
}

std::shared_ptr<const Exclusions> exclusions_of(const TableFacts &facts, const Places &places,
                                                const Exclusions &of_users) {
  if (!places.known) {
    return nullptr;
  }
  auto exclusions = std::make_shared<Exclusions>(of_users);
  for (size_t row = 0; row < places.why.size(); ++row) {
    if (!places.why[row].empty()) {
      exclusions->push_back({facts.rows[row].element, places.why[row], std::nullopt});
    }
  }
  return exclusions;
}

bool same_rows(const Places &a, const Places &b) {
  return a.rows.size() == b.rows.size() &&
         std::memcmp(a.rows.data(), b.rows.data(), a.rows.size() * sizeof(ses_table_place)) == 0;
}

} // namespace ses::agent
