/*
 * A program that was deployed by `ses offload deploy`: which binary serves on which node, and how
 * the program says whether it does.
 */
#ifndef SES_OFFLOAD_DEPLOYED_H
#define SES_OFFLOAD_DEPLOYED_H

/* Tries the domain that the command line asks for, says how that went, and exits; returns if it
 * asks for none. */
#define OFFLOAD_CHECK "--ses-offload-check="
#define OFFLOAD_CHECK_RSH "--ses-offload-rsh="
void offload_check_if_asked(void);

/* The program that serves on a node, from the file EXECUTABLE.nodes of lines "NODE PROGRAM"; NULL:
 * none is named there.  The caller frees. */
char *offload_deployed_on(const char *executable, const char *node);

#endif /* SES_OFFLOAD_DEPLOYED_H */
