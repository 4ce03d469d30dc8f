/*
 * The two lines by which a program and its storage part meet.  They go through standard input and
 * output of the command that starts the storage part, so only its user can read or write them.
 *
 *   to   ses-offload 1 CLIENT-KEY FINGERPRINT UID ADDRESS|- DIRECTORY
 *   from ses-offload 1 ENDPOINT SERVER-KEY LOAD      or   ses-offload refused TEXT
 */
#ifndef SES_OFFLOAD_GREETING_H
#define SES_OFFLOAD_GREETING_H

#define OFFLOAD_SERVE "--ses-offload-serve"
#define OFFLOAD_GREETING "ses-offload 1 "
#define OFFLOAD_REFUSED "ses-offload refused "
#define OFFLOAD_OTHER "another build: its functions or types differ"
#define OFFLOAD_LINE_MAX 8192

#endif /* SES_OFFLOAD_GREETING_H */
