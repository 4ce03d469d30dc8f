// What this node has for placing: the agent, and storage that the site describes.
#ifndef SES_RUN_NODE_H
#define SES_RUN_NODE_H

#include <string>
#include <vector>

namespace ses::run {

struct Node {
  std::string socket;              // where the agent is looked for
  std::string no_agent;            // why none can be asked there; empty: one listens
  bool has_table = false;          // it publishes candidates that this user's programs believe
  std::vector<std::string> mounts; // of managed storage, as the table names them
};

// Looks for the agent at SOCKET; empty: at SES_AGENT_SOCKET, else where it usually is.
Node look_at_node(const std::string &socket);

// What keeps files from being placed here, as a clause without a full stop; empty: nothing.
std::string lack_of(const Node &node);

} // namespace ses::run

#endif // SES_RUN_NODE_H
