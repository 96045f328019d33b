// SPDX-License-Identifier: GPL-2.0-or-later
// Giving up power, in the order that works: resource limits, then identity and capabilities, then system calls.
//
// All sandboxed roles read what a stranger may have written: the reader a configuration file, the engine packets, the
// manager requests. What the first two hold by then are open descriptors, and those keep working; so nothing is lost with
// uid 0 and the capabilities. The manager also opens files, as the user that its state directory belongs to.
// The filter is a list of what a role does, and everything else kills the process, at once and as a whole: an EPERM
// would let broken code stumble on. Two calls are allowed only in part: memory is never made executable, and signals
// go to the process itself (abort() needs that).
//
// What io_uring executes is not seen by seccomp. Whoever makes a ring restricts it (IORING_REGISTER_RESTRICTIONS)
// before the sandbox is entered; io_uring_setup and io_uring_register are forbidden afterwards.
#include "io/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
	__has_feature(thread_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { NOBODY = 65534 }; // user nobody, group nogroup: the kernel's overflow ids, so that no file has to be read

static int limit(int resource, rlim_t value)
{
	struct rlimit r = {value, value};

	return setrlimit(resource, &r) ? -errno : 0;
}

int sandbox_limit(uint64_t memory_bytes, uint32_t cpu_seconds)
{
	int rc = limit(RLIMIT_CORE, 0);

	// glibc looks into /proc when an arena other than the first shrinks, and a sandboxed process may not open files
	mallopt(M_ARENA_MAX, 1);
	if (!rc && memory_bytes && !SANITIZED) // a sanitizer's shadow is terabytes of address space
		rc = limit(RLIMIT_AS, memory_bytes);
	if (!rc && cpu_seconds)
		rc = limit(RLIMIT_CPU, cpu_seconds);
	return rc;
}

// Whether the thread has no capability left, as /proc says.
static bool thread_is_powerless(int tasks, const char *tid)
{
	char path[64], line[256];
	int empty = 0, fd;
	FILE *f;

	snprintf(path, sizeof path, "%.20s/status", tid);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return false;
	while (fgets(line, sizeof line, f))
		if (!strncmp(line, "CapPrm:", 7) || !strncmp(line, "CapEff:", 7))
			empty += strtoull(line + 7, NULL, 16) == 0;
	fclose(f);
	return empty == 2;
}

// capset() works on one thread. A change of uid takes them from all, but a process that got its capabilities without
// being root keeps those of its other threads: then the caller came too late, and is told so.
static int check_all_threads(DIR *tasks)
{
	bool good = true;

	for (struct dirent *e; good && (e = readdir(tasks));)
		if (e->d_name[0] != '.')
			good = thread_is_powerless(dirfd(tasks), e->d_name);
	return good ? 0 : -EPERM;
}

static int drop_capabilities(void)
{
	cap_t none = cap_init();
	int rc = 0;

	if (!none)
		return -ENOMEM;
	if (cap_set_proc(none))
		rc = -errno;
	cap_free(none);
	return rc;
}

static int become(uid_t uid, gid_t gid)
{
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (cap_drop_bound(c) && errno != EPERM) // not ours to drop: no_new_privs makes it worthless anyway
			return -errno;
	if (geteuid() == 0) {
		if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
			return -errno;
	}
	return drop_capabilities();
}

// `root` NULL: as it is.
static int drop(const char *root, uid_t uid, gid_t gid)
{
	DIR *tasks = opendir("/proc/self/task"); // before it is out of sight
	int rc = 0;

	if (!tasks)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || (root && (chdir(root) || chroot("."))))
		rc = -errno;
	if (!rc)
		rc = become(uid, gid);
	if (!rc)
		rc = check_all_threads(tasks);
	closedir(tasks);
	return rc;
}

int sandbox_drop_privileges(void)
{
	return drop(NULL, NOBODY, NOBODY);
}

int sandbox_confine(const char *dir, const char **root)
{
	cap_t have = cap_get_proc();
	cap_flag_value_t may = CAP_CLEAR;
	struct stat st;

	if (have)
		cap_get_flag(have, CAP_SYS_CHROOT, CAP_EFFECTIVE, &may);
	cap_free(have);
	*root = may == CAP_SET ? "/" : dir;
	if (stat(dir, &st))
		return -errno;
	if (geteuid() == 0 && st.st_uid == 0)
		return -EPERM;
	return drop(may == CAP_SET ? dir : NULL, st.st_uid, st.st_gid);
}

// --- system calls ------------------------------------------------------------------------------------------------

static const int common_calls[] = {
	// descriptors that were open before
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(pread64),
	SCMP_SYS(fstat),
	SCMP_SYS(close),
	// memory; qsort() asks how much there is
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getrandom),
	// itself
	SCMP_SYS(futex),
	SCMP_SYS(sched_yield),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static const int engine_calls[] = {
	// packets: kicks and wake-ups of AF_XDP sockets, their statistics
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(getsockopt),
	// messages
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	// sleeping
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	// threads that were started before
	SCMP_SYS(membarrier),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sigaltstack),
};

static const int manager_calls[] = {
	// files: the store, the certificate
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	SCMP_SYS(lseek),
	SCMP_SYS(pwrite64),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(fcntl),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchown),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(umask),
	SCMP_SYS(memfd_create),
	SCMP_SYS(dup),
	// connections that came to a listening socket it was given, and pairs
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendfile),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	// waiting
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	// threads
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(membarrier),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	// about itself
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(uname),
	SCMP_SYS(getrusage),
};

static int allow(scmp_filter_ctx f, const int *call, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, call[i], 0);

		if (rc)
			return rc;
	}
	return 0;
}

// Calls that are allowed with certain arguments only.
static int allow_in_part(scmp_filter_ctx f)
{
	const struct {
		int call;
		struct scmp_arg_cmp arg;
	} rules[] = {
		{SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())},
		{SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)},
		{SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_TIMERSLACK)},
		{SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GET_SEALS)},
		{SCMP_SYS(newfstatat), SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH)}, // fstat() of newer C libraries
	};

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		int rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, rules[i].call, 1, rules[i].arg);

		if (rc)
			return rc;
	}
	return 0;
}

// The manager starts threads and makes pairs of sockets, but no processes and no sockets that lead anywhere. clone3() hides
// what it is to do behind a pointer: as if the kernel did not have it, the C library then uses clone().
static int allow_in_part_manager(scmp_filter_ctx f)
{
	int rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM));

	if (!rc)
		rc = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!rc)
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	if (!rc) // reading a limit, not setting one
		rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A2(SCMP_CMP_EQ, 0));
	return rc;
}

// The runtime of a sanitizer opens files, starts threads and traces its own process, differently in each version; no
// list of what it does would stay true. Such a build forbids what the roles must never do instead.
static int forbid(scmp_filter_ctx f)
{
	static const int calls[] = {SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(socket), SCMP_SYS(bpf),
				    SCMP_SYS(mount),  SCMP_SYS(unshare),  SCMP_SYS(setns)};

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		int rc = seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, calls[i], 0);

		if (rc)
			return rc;
	}
	return 0;
}

static int fill(scmp_filter_ctx f, enum sandbox_role role)
{
	int rc = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);

	if (!rc)
		rc = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (rc || SANITIZED)
		return rc ? rc : forbid(f);
	rc = allow(f, common_calls, ARRAY_LEN(common_calls));
	if (!rc)
		rc = allow_in_part(f);
	if (!rc && role == SANDBOX_ENGINE)
		rc = allow(f, engine_calls, ARRAY_LEN(engine_calls));
	if (!rc && role == SANDBOX_MANAGER)
		rc = allow(f, manager_calls, ARRAY_LEN(manager_calls));
	if (!rc && role == SANDBOX_MANAGER)
		rc = allow_in_part_manager(f);
	return rc;
}

int sandbox_enter(enum sandbox_role role)
{
	scmp_filter_ctx f = seccomp_init(SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS);
	int rc;

	if (!f)
		return -ENOMEM;
	rc = fill(f, role);
	if (!rc)
		rc = seccomp_load(f);
	seccomp_release(f);
	return rc;
}
