/*
 * Getting a node ready for a user's programs.
 */
#ifndef SES_SLURM_NODE_H
#define SES_SLURM_NODE_H

/* Lets the agent of this node know the effective user of the caller, and waits until its table has
 * all that their first create chooses by: the user's needs, and staging directories.  Returns at
 * once where that is so or there is no agent, else after TIMEOUT_MS at most, such as while no
 * service answers: programs then ask the agent themselves.  One thread only. */
void ses_node_prepare(unsigned timeout_ms);

#endif /* SES_SLURM_NODE_H */
