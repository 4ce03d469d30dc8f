/*
 * swapper NUMBER AFTER UID RENAMES PROGRAM...: runs PROGRAM and stops it before the NUMBER-th
 * system call that looks up a path, to do RENAMES: FROM>TO,FROM>TO, the rest left out when one
 * fails.  What depends on names can differ only there.  Counted is what comes after the first
 * call of the number AFTER; 0: all.
 *
 * Exits as PROGRAM does; 100: it made fewer calls.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const int with_paths[] = {
    SYS_open,      SYS_openat,      SYS_openat2,      SYS_stat,     SYS_lstat,      SYS_newfstatat,
    SYS_statx,     SYS_access,      SYS_mkdir,        SYS_mkdirat,  SYS_mknod,      SYS_mknodat,
    SYS_symlink,   SYS_symlinkat,   SYS_link,         SYS_linkat,   SYS_rename,     SYS_renameat,
    SYS_renameat2, SYS_unlink,      SYS_unlinkat,     SYS_readlink, SYS_readlinkat, SYS_chmod,
    SYS_fchmodat,  SYS_chown,       SYS_lchown,       SYS_fchownat, SYS_utimensat,  SYS_setxattr,
    SYS_lsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_getxattr, SYS_lgetxattr,
};
enum { CALLS = sizeof with_paths / sizeof *with_paths };

static void stop_at_paths(void) {
  struct sock_filter program[CALLS + 3];
  unsigned at = 0;
  program[at++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < CALLS; i++)
    program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)with_paths[i],
                                                 (unsigned char)(CALLS - i), 0);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
  struct sock_fprog whole = {.len = (unsigned short)at, .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole))
    _exit(101);
}

static void swap(char *renames) {
  for (char *pair = strtok(renames, ","); pair; pair = strtok(NULL, ",")) {
    char *to = strchr(pair, '>');
    *to = '\0';
    if (rename(pair, to + 1))
      return;
  }
}

int main(int argc, char **argv) {
  if (argc < 6)
    return 102;
  long number = atol(argv[1]), after = atol(argv[2]);
  int counts = after == 0;
  unsigned uid = (unsigned)atol(argv[3]);
  pid_t child = fork();
  if (child == 0) {
    if (uid && (setgid(uid) || setuid(uid)))
      _exit(103);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    stop_at_paths();
    execv(argv[5], argv + 5);
    _exit(104);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child ||
      ptrace(PTRACE_SETOPTIONS, child, 0,
             PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                 PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL))
    return 105;
  ptrace(PTRACE_CONT, child, 0, 0);
  for (;;) {
    pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0)
      return 106;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (thread == child)
        return number > 0 ? 100 : WIFEXITED(status) ? WEXITSTATUS(status) : 107;
      continue;
    }
    int event = status >> 16, signal = 0;
    if (event == PTRACE_EVENT_SECCOMP) {
      struct user_regs_struct registers;
      ptrace(PTRACE_GETREGS, thread, 0, &registers);
      if (counts && --number == 0)
        swap(argv[4]);
      counts |= registers.orig_rax == (unsigned long)after;
    } else if (!event && WSTOPSIG(status) != SIGSTOP && WSTOPSIG(status) != SIGTRAP) {
      signal = WSTOPSIG(status);
    }
    ptrace(PTRACE_CONT, thread, 0, signal);
  }
}
