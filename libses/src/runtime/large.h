/*
 * SES_LARGE: a zeroed table that most programs never touch, to be laid behind
 * all other variables.  Those then share the one page that every program that
 * starts pays for.
 */
#ifndef SES_LARGE_H
#define SES_LARGE_H

#define SES_LARGE __attribute__((section(".bss.large")))

#endif /* SES_LARGE_H */
