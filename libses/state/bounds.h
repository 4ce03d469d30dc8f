/*
 * What a node may report, and how many placements are made of late.
 *
 * FileBounds: how many files a node may have open and may begin, and of which jobs they are: a job
 * has one user.  A node may begin files faster than its rate for as long as it began fewer before
 * (`averaged_over` seconds' worth at once).  Where it has too many, those users are refused who
 * have more than their share of it, and nobody else; so a node has more than it may by at most
 * three times as many.
 *
 * Recent: a count that fades: what happened t seconds ago weighs exp(-t / fades).  Time is that of
 * what is counted, so that what is reported late weighs as little as it should.
 */
#ifndef SES_STATE_BOUNDS_H
#define SES_STATE_BOUNDS_H

#include "records.h"

#include <map>
#include <utility>

namespace ses::state {

struct Refusals {
  std::int64_t too_many_open = 0, too_fast = 0, invalid = 0;
  std::string node;
  double at = -forever;
};

class FileBounds {
public:
  FileBounds(double rate, std::int64_t max_open, double averaged_over)
      : _rate(rate), _max_open(max_open), _averaged_over(averaged_over) {}

  void opened(const std::string &node, const std::string &user, const Text &job);
  void closed(const std::string &node, const std::string &user, const Text &job);
  /* Whether all files that a job has open on a node are of other users. */
  bool is_anothers(const std::string &node, const std::string &user, const std::string &job) const;
  /* Why a user may not begin a file on a node; empty: it may, and the file is counted. */
  std::string refuses(const std::string &node, const std::string &user, double now);

  /* How many nodes are known to have begun files. */
  std::size_t begun() const { return _begun.size(); }

  Refusals refusals;

private:
  struct Begun {
    double all = -forever;
    std::unordered_map<std::string, double> of_user;
    double at = -forever;
  };
  using Users = std::unordered_map<std::string, std::int64_t>;
  struct Open {
    Users users;
    std::int64_t all = 0;
  };

  bool begins(const std::string &node, const std::string &user, double now);

  double _rate;
  std::int64_t _max_open;
  double _averaged_over;
  std::unordered_map<std::string, Open> _open;
  std::map<std::pair<std::string, std::string>, Users> _of_job;
  std::unordered_map<std::string, Begun> _begun;
  std::size_t _many = 1000; /* nodes; below it nobody is forgotten */
};

class Recent {
public:
  void count(double at);
  double rate(double now) const;

private:
  double _at = 0.0, _weight = 0.0;
};

/* Placements a second, of each storage system and of each node on it. */
class Arrivals {
public:
  void count(const std::string &system, const Text &node, double at);
  double of_node(const std::string &system, const std::string &node, double now) const;
  double of_other_nodes(const std::string &system, const std::string &node, double now) const;
  /* Forget the nodes that placed nothing for long. */
  void forget(double now);
  std::size_t nodes() const { return _of_node.size(); }

private:
  std::unordered_map<std::string, Recent> _of_system;
  std::map<std::pair<std::string, std::string>, Recent> _of_node;
};

} // namespace ses::state

#endif /* SES_STATE_BOUNDS_H */
