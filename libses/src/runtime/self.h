/*
 * The number of this process, without a system call each time, and right in
 * the child of fork() as well.
 */
#ifndef SES_SELF_H
#define SES_SELF_H

/* Not for children of vfork(): they run on their parent's memory and get its number. */
int ses_self_pid(void);

#endif /* SES_SELF_H */
