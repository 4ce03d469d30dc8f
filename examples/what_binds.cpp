// What limits a program that streams from a disk, by the model of READ2: a matrix that lies in
// blocks on some nodes is transposed.  Blocks of others go to the network through memory (p2ps), or
// straight from the disk (read2).  The nodes are those of RR-4401, section 4.
//
//     what_binds 4        # nodes; prints the rate of each way, and what binds
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <ses/stream.h>

static void tell(const char *name, const ses_stream_path &path, double elsewhere) {
  const char *resources[] = {"disk", "I/O bus", "memory bus", "processor", "network link"};
  ses_stream_node node{NAN, 133e6, 800e6, 2000e6, NAN, NAN};
  ses_stream_profile profile{1, elsewhere, elsewhere, 1, 0};
  ses_stream_limits limits;
  if (ses_stream_bound(&node, &profile, &path, &limits) == 0)
    std::printf("%s %.1f MB/s, bound by the %s\n", name, limits.rate / 1e6,
                resources[limits.binding]);
}

int main(int argc, char **argv) {
  double nodes = argc == 2 ? std::atof(argv[1]) : 0;
  if (!(nodes >= 1)) {
    std::fprintf(stderr, "Usage: what_binds NODES\n");
    return 2;
  }
  double elsewhere = (nodes - 1) / (2 * nodes); // of its blocks all but one are for others
  const ses_stream_crossings own_disk{1, 0, 0}, own_link{0, 1, 1}, once{1, 1, 1}, none{0, 0, 0};
  tell("p2ps", {own_disk, once, once, none, own_link}, elsewhere);
  tell("read2", {own_disk, {1, 1, 0}, {1, 1, -1}, none, own_link}, elsewhere);
}
