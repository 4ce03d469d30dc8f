/*
 * Records by the names of their members, for what handles them all alike: JSON of them, and objects
 * of Python.
 */
#ifndef SES_STATE_DESCRIBED_H
#define SES_STATE_DESCRIBED_H

#include "records.h"

#include <tuple>

namespace ses::state {

template <class T> struct Described; /* name, and fields: pairs of a name and a member */
template <class T>
concept IsDescribed = requires {
  Described<T>::fields;
};

#define SES_FIELD(type, member) std::pair(#member, &type::member)
#define SES_DESCRIBED(type, ...)                                                                   \
  template <> struct Described<type> {                                                             \
    static constexpr auto name = #type;                                                            \
    static constexpr auto fields = std::tuple(__VA_ARGS__);                                        \
  };

template <> struct Described<Doubt> { static constexpr auto name = "Doubt"; };
template <> struct Described<Verdict> { static constexpr auto name = "Verdict"; };
template <> struct Described<Cause> { static constexpr auto name = "Cause"; };
template <> struct Described<EndReason> { static constexpr auto name = "EndReason"; };
SES_DESCRIBED(Subject, SES_FIELD(Subject, user), SES_FIELD(Subject, application),
              SES_FIELD(Subject, vo), SES_FIELD(Subject, node), SES_FIELD(Subject, job))
SES_DESCRIBED(Prediction, SES_FIELD(Prediction, kind), SES_FIELD(Prediction, value),
              SES_FIELD(Prediction, bound), SES_FIELD(Prediction, shortfall))
SES_DESCRIBED(Achieved, SES_FIELD(Achieved, bytes_written), SES_FIELD(Achieved, bytes_read),
              SES_FIELD(Achieved, writing_seconds), SES_FIELD(Achieved, reading_seconds),
              SES_FIELD(Achieved, open_seconds), SES_FIELD(Achieved, bytes_on_device),
              SES_FIELD(Achieved, doubts), SES_FIELD(Achieved, samples))
SES_DESCRIBED(KindVerdict, SES_FIELD(KindVerdict, kind), SES_FIELD(KindVerdict, bound),
              SES_FIELD(KindVerdict, predicted), SES_FIELD(KindVerdict, achieved),
              SES_FIELD(KindVerdict, at_least), SES_FIELD(KindVerdict, verdict),
              SES_FIELD(KindVerdict, why))
SES_DESCRIBED(FileVerdict, SES_FIELD(FileVerdict, verdict), SES_FIELD(FileVerdict, kinds),
              SES_FIELD(FileVerdict, worst), SES_FIELD(FileVerdict, cause),
              SES_FIELD(FileVerdict, why), SES_FIELD(FileVerdict, load))

} // namespace ses::state

#endif /* SES_STATE_DESCRIBED_H */
