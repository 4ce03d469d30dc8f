/*
 * Placements as rows of the service's tables: all values, in the order of the columns
 * (`ses_service/store/tables.py`).
 *
 * ROW takes them one by one: null(), text(), number(), integer(), boolean(), bytes().  Texts are
 * such as every database takes.
 */
#ifndef SES_STATE_TABLE_ROWS_H
#define SES_STATE_TABLE_ROWS_H

#include "rows.h"

#include <cmath>

namespace ses::state {

template <class Row> void put(Row &row, std::string_view value) {
  is_plain(value) ? row.text(value) : row.text(plain(value));
}
template <class Row> void put(Row &row, const std::string &value) {
  put(row, std::string_view(value));
}
template <class Row> void put(Row &row, double value) { row.number(value); }
template <class Row> void put(Row &row, int value) { row.integer(value); }
template <class Row> void put(Row &row, std::int64_t value) { row.integer(value); }
template <class Row> void put(Row &row, bool value) { row.boolean(value); }
template <class Row, Named E> void put(Row &row, E value) { row.text(name_of(value)); }
template <class Row, class T> void put(Row &row, const std::optional<T> &value) {
  value ? put(row, *value) : row.null();
}

/* EXPLANATION is the id of the placement that it is stored with, SERVICE who carries this one. */
template <class Row>
void placement_row(Row &row, const Placement &placement, const Text &explanation,
                   const std::string &service) {
  const auto &subject = *placement.subject;
  auto device = placement.device ? Text(std::to_string(*placement.device)) : Text();
  auto held = placement.held ? Text(placement.held->row) : Text();
  auto add = [&row](const auto &...values) { (put(row, values), ...); };
  add(text_of(placement.id), std::string_view(placement.ended ? "ended" : "open"));
  add(subject.user, subject.application, subject.vo, subject.node, subject.job);
  add(placement.backend, elements_text(placement), placement.stripe_size);
  add(placement.distance, placement.rank, placement.batch_number, placement.batch_size,
      placement.decided_by);
  add(placement.expected_bytes, placement.expected_from, predicted_text(placement),
      notes_text(placement));
  add(placement.path, device, placement.inode, placement.pid);
  add(placement.placed_at);
  std::isfinite(placement.lease_until) ? row.number(placement.lease_until) : row.null();
  add(placement.opened_at, placement.ended_at, placement.end_reason, placement.bytes_written);
  add(explanation, placement.idle, service, held);
}

/* Of a file that ended, and what came of it. */
template <class Row> void file_row(Row &row, const Placement &placement) {
  static const Achieved nothing;
  const auto *achieved = placement.achieved.get();
  const auto &figures = achieved ? *achieved : nothing;
  const FileVerdict *judged = placement.file_verdict.get();
  const auto &subject = *placement.subject;
  auto rate = [](double amount, double seconds) {
    return seconds > 0 && amount > 0 ? Number(amount / seconds) : Number();
  };
  auto add = [&row](const auto &...values) { (put(row, values), ...); };
  add(text_of(placement.id), subject.user, subject.application, subject.vo, subject.job,
      subject.node);
  add(placement.elements.at(0)->id, placement.path);
  add(placement.opened_at.value_or(placement.placed_at), placement.ended_at, placement.end_reason);
  add(achieved ? Number(figures.bytes_written) : placement.bytes_written);
  add(achieved ? Number(figures.bytes_read) : Number());
  add(rate(figures.bytes_written, figures.writing_seconds));
  add(rate(figures.bytes_read, figures.reading_seconds));
  add(judged ? judged->verdict : std::optional<Verdict>());
  add(judged ? judged->cause : std::optional<Cause>());
  if (judged && judged->worst) {
    const auto &worst = judged->kinds.at(*judged->worst);
    add(worst.kind->record, worst.bound, worst.predicted, worst.achieved);
  } else if (!placement.predicted.empty()) {
    const auto &first = placement.predicted[0];
    add(first.kind->record, first.bound, first.value, Number());
  } else {
    add(Text(), Number(), Number(), Number());
  }
  row.bytes(detail_body(placement));
}

} // namespace ses::state

#endif /* SES_STATE_TABLE_ROWS_H */
