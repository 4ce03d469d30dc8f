/*
 * What a file's layout proves of where the file lies.
 *
 * Names prove nothing: Lustre stores that of a pool which does not exist, or
 * with the file system's name before it, and takes any OST; and it may send a
 * file to another pool than the one asked for.  So it is the OSTs of the file's
 * objects that count.  Pure, as layout.h.
 */
#ifndef SES_LUSTRE_EVIDENCE_H
#define SES_LUSTRE_EVIDENCE_H

#include "lustre/layout.h"

/* The OSTs of a pool: bit i % 64 of word i / 64 stands for OST i. */
struct ses_lov_members {
  const uint64_t *words;
  unsigned count; /* of words */
};

/*
 * Does the layout of SIZE bytes, as it was read back from a file, lie where
 * CHOICE is (in a pool: on its MEMBERS alone)?  The component that is looked at
 * is the one ses_lov_edit() changes first.  Where it has no objects yet (behind
 * one on the metadata target) they will be made by what it states: that must be
 * the choice, and its pool have a member.  False for bytes that are no layout.
 */
bool ses_lov_lies_as(const void *bytes, size_t size, const struct ses_lov_choice *choice,
                     const struct ses_lov_members *members, struct ses_lov_work *work);

#endif /* SES_LUSTRE_EVIDENCE_H */
