/*
 * Values of LD_PRELOAD.
 */
#ifndef SES_PRELOAD_LIST_H
#define SES_PRELOAD_LIST_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SES_PRELOAD_SEPARATORS " :" /* of the dynamic linker */

/* Does LIST name a library of the same file name as ENTRY? */
bool ses_preload_list_names(const char *list, const char *entry);

#ifdef __cplusplus
}
#endif

#endif /* SES_PRELOAD_LIST_H */
