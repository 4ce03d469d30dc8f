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
void placement_row(Row &row, const Placement &one, const Text &explanation,
                   const std::string &service) {
  const auto &subject = *one.subject;
  auto device = one.device ? Text(std::to_string(*one.device)) : Text();
  auto held = one.held ? Text(one.held->row) : Text();
  auto add = [&row](const auto &...values) { (put(row, values), ...); };
  add(text_of(one.id), std::string_view(one.ended ? "ended" : "open"));
  add(subject.user, subject.application, subject.vo, subject.node, subject.job);
  add(one.backend, elements_text(one), one.stripe_size);
  add(one.distance, one.rank, one.batch_number, one.batch_size, one.decided_by);
  add(one.expected_bytes, one.expected_from, predicted_text(one), notes_text(one));
  add(one.path, device, one.inode, one.pid);
  add(one.placed_at);
  std::isfinite(one.lease_until) ? row.number(one.lease_until) : row.null();
  add(one.opened_at, one.ended_at, one.end_reason, one.bytes_written);
  add(explanation, one.idle, service, held);
}

/* Of a file that ended, and what came of it. */
template <class Row> void file_row(Row &row, const Placement &one) {
  static const Achieved nothing;
  const auto *achieved = one.achieved.get();
  const auto &figures = achieved ? *achieved : nothing;
  const FileVerdict *judged = one.file_verdict.get();
  const auto &subject = *one.subject;
  auto rate = [](double amount, double seconds) {
    return seconds > 0 && amount > 0 ? Number(amount / seconds) : Number();
  };
  auto add = [&row](const auto &...values) { (put(row, values), ...); };
  add(text_of(one.id), subject.user, subject.application, subject.vo, subject.job, subject.node);
  add(one.elements.at(0)->id, one.path);
  add(one.opened_at.value_or(one.placed_at), one.ended_at, one.end_reason);
  add(achieved ? Number(figures.bytes_written) : one.bytes_written);
  add(achieved ? Number(figures.bytes_read) : Number());
  add(rate(figures.bytes_written, figures.writing_seconds));
  add(rate(figures.bytes_read, figures.reading_seconds));
  add(judged ? judged->verdict : std::optional<Verdict>());
  add(judged ? judged->cause : std::optional<Cause>());
  if (judged && judged->worst) {
    const auto &worst = judged->kinds.at(*judged->worst);
    add(worst.kind->record, worst.bound, worst.predicted, worst.achieved);
  } else if (!one.predicted.empty()) {
    const auto &first = one.predicted[0];
    add(first.kind->record, first.bound, first.value, Number());
  } else {
    add(Text(), Number(), Number(), Number());
  }
  row.bytes(detail_body(one));
}

} // namespace ses::state

#endif /* SES_STATE_TABLE_ROWS_H */
