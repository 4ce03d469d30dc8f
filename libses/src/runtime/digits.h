/*
 * Numbers as text, without the C library's help.
 */
#ifndef SES_DIGITS_H
#define SES_DIGITS_H

#define SES_DIGITS_MAX 20 /* of a 64-bit number */

/* The digits of VALUE, at least LEAST of them, before END; returns the first. */
static inline char *ses_digits(char *end, unsigned long value, unsigned least) {
  for (unsigned written = 0; written < least || value > 0; written++) {
    *--end = (char)('0' + value % 10);
    value /= 10;
  }
  return end;
}

#endif /* SES_DIGITS_H */
