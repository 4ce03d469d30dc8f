// A checksum of what a file holds: XXH3, 128 bits.
#ifndef SES_COPY_DIGEST_H
#define SES_COPY_DIGEST_H

#include <string>

namespace ses::copy {

// Of the first SIZE bytes of an open file, as 32 hexadecimal digits; raises Failure for PATH.
std::string digest_of(int fd, off_t size, const std::string &path);

// The same, read from the device again and not from the page cache, as far as the kernel lets go.
std::string digest_on_device(int fd, off_t size, const std::string &path);

} // namespace ses::copy

#endif // SES_COPY_DIGEST_H
