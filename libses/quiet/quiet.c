/*
 * What 32-bit programs load where LD_PRELOAD names $LIB/libses-wrapper.so: nothing.  Without it the
 * dynamic linker would print a message into every one of them.  Needs no C library and does not
 * place files.
 */
static const char quiet[] __attribute__((used)) = "libses-wrapper: not for 32-bit programs";
