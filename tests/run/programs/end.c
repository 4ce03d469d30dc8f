/* The smallest 32-bit program: ends with status 0. */
void _start(void);
void _start(void) { __asm__ volatile("mov $1, %eax; xor %ebx, %ebx; int $0x80"); }
