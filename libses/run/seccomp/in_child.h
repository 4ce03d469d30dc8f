// A question that can be asked in a child only: what it takes cannot be undone.
#ifndef SES_RUN_IN_CHILD_H
#define SES_RUN_IN_CHILD_H

namespace ses::run {

// What QUESTION says in a child; false also where that dies, or there is none to be had.
bool holds_in_child(bool (*question)());

} // namespace ses::run

#endif // SES_RUN_IN_CHILD_H
