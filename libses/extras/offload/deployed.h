/*
 * A program that was deployed by `ses offload deploy`: which binary serves on which node, and how
 * the program says whether it does.
 */
#ifndef SES_OFFLOAD_DEPLOYED_H
#define SES_OFFLOAD_DEPLOYED_H

/* Words of a command line that asks whether a domain can be had. */
#define OFFLOAD_CHECK "--ses-offload-check="
#define OFFLOAD_CHECK_RSH "--ses-offload-rsh="

/* The program that serves on a node, from the file EXECUTABLE.nodes of lines "NODE PROGRAM"; NULL:
 * none is named there.  The caller frees. */
char *offload_deployed_on(const char *executable, const char *node);

#endif /* SES_OFFLOAD_DEPLOYED_H */
