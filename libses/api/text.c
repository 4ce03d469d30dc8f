/*
 * What the library's numbers mean, in English.
 */
#include "ses/ses.h"

const char *ses_strerror(int status) {
  switch ((ses_status)status) {
  case SES_OK:
    return "success";
  case SES_REFUSED_NO_POLICY:
    return "there is no policy to set this in (out of memory when it was made?)";
  case SES_REFUSED_NOT_FINITE:
    return "the value is not a finite number";
  case SES_REFUSED_NEGATIVE:
    return "the value is negative, or the weight is not above 0";
  case SES_REFUSED_TOO_LARGE:
    return "the value is larger than the limit in ses/ses.h";
  case SES_REFUSED_KIND:
    return "there is no such kind of requirement";
  case SES_REFUSED_STRIPE_SIZE:
    return "the stripe size is not a multiple of 65536 bytes";
  case SES_REFUSED_POOL:
    return "the pool name is longer than 15 characters or has one other than A-Z a-z 0-9 _ - .";
  case SES_REFUSED_APPLICATION:
    return "the application name is empty, longer than 63 bytes, or contains ':', '/' or a control "
           "character";
  case SES_NOT_PLACED_EXISTS:
    return "the file existed already and stays where it is";
  case SES_NOT_PLACED_NOT_MANAGED:
    return "the directory lies on no storage system that the site describes";
  case SES_NOT_PLACED_NO_AGENT:
    return "no ses-agent answers on this node, or asking is turned off (see ses doctor)";
  case SES_NOT_PLACED_NO_ANSWER:
    return "ses-agent gave no valid answer within SES_SYNC_MS";
  case SES_NOT_PLACED_NO_DECISION:
    return "the selection service gave no decision in time, or no element may take the file";
  case SES_NOT_PLACED_UNSUITED:
    return "these flags, this mode or this directory can only be served exactly by open(2)";
  case SES_NOT_PLACED_STEP_FAILED:
    return "a step of placing the file failed and was undone";
  case SES_CREATE_FAILED:
    return "open(2) failed and nothing was created";
  }
  return "unknown status of libses (made by a later version?)";
}

const char *ses_version(void) { return SES_VERSION; }
