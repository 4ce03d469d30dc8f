/* Rows of a table as the text of a PostgreSQL array of them: {"(a,b)","(c,d)"}.  Pure. */
#ifndef SES_STATE_ROW_ARRAY_H
#define SES_STATE_ROW_ARRAY_H

#include <cstdint>
#include <string>
#include <string_view>

namespace ses::state {

/* Takes the values of each row between `begin` and `end`, in the order of the table's columns. */
class RowArray {
public:
  void begin();
  void end();
  void null() { separate(); } /* nothing between two commas */
  void text(std::string_view value);
  void number(double value);
  void integer(std::int64_t value);
  void boolean(bool value);
  void bytes(std::string_view value);
  /* The text; nothing can be added any more. */
  std::string done();

private:
  void separate();
  std::string _text = "{";
  bool _first = true;
};

} // namespace ses::state

#endif /* SES_STATE_ROW_ARRAY_H */
