/*
 * Programs that give something up for good and go on: g_confined WHAT. Each case locks before and after, with threads
 * where it may have them, and its output does not depend on the schedule.
 *   strict          seccomp's oldest mode: read, write and exit of the thread are all that is left
 *   filter          a seccomp filter that kills at any call that this program does not make itself
 *   sync            the same for all threads at once, given by the system call's own number
 *   refuse          a filter that refuses (ENOSYS) instead of killing
 *   service         behind a filter from the start, as services and containers are: rare calls kill
 *   child           a child that confines itself, and a grandchild
 *   chroot DIR      another root, nothing in it; then threads
 *   user            another user, by setresuid in a process with threads; then more threads
 *   files           no file may grow beyond 16k (RLIMIT_FSIZE), none be opened (RLIMIT_NOFILE)
 *   memory          no memory to be had any more (RLIMIT_AS), all of it locked
 *   stderr FILE     descriptor 2 becomes a file of data
 *   pipe            descriptor 2 is a pipe that nobody reads, from the start
 *   namespace       threads come and go, and then the process may enter a user namespace: it has one thread
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, MANY = 50000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, own[THREADS + 1];
static long shared;

/* Long enough to fill a ring of the default size. */
static void *work(void *i)
{
	for (int k = 0; k < MANY; k++) {
		pthread_mutex_lock(&own[(long)i]);
		pthread_mutex_unlock(&own[(long)i]);
	}
	pthread_mutex_lock(&m);
	shared++;
	pthread_mutex_unlock(&m);
	return NULL;
}

static int threads(void)
{
	pthread_t t[THREADS];
	long n = 0;

	shared = 0;
	while (n < THREADS && pthread_create(&t[n], NULL, work, (void *)n) == 0)
		n++;
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return printf("%ld of %d threads, %ld\n", n, THREADS, shared), fflush(stdout);
}

/* ---- seccomp --------------------------------------------------------------------------------- */

/* What the code below needs from the kernel, threads and the end included. */
static const int needed[] = {
	SYS_read, SYS_write, SYS_futex, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_mmap, SYS_munmap,
	SYS_mprotect, SYS_madvise, SYS_brk, SYS_clone, SYS_clone3, SYS_set_robust_list, SYS_rseq,
	SYS_rt_sigprocmask, SYS_newfstatat, SYS_fork, SYS_wait4, SYS_set_tid_address, SYS_getrandom,
	SYS_sched_getaffinity, SYS_sched_setscheduler, SYS_gettid,
};

static int confine(uint32_t otherwise, int is_all)
{
	enum { N = sizeof needed / sizeof *needed };
	struct sock_filter code[2 * N + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program = {2 * N + 2, code};

	for (int i = 0; i < N; i++) {
		code[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, needed[i], 0, 1);
		code[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[2 * N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	if (is_all)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The other way round: only these kill. */
static int forbid_rare(void)
{
	static const int rare[] = {SYS_unshare, SYS_setns,  SYS_pidfd_open, SYS_pidfd_getfd, SYS_close_range,
				   SYS_ptrace,	SYS_mount,  SYS_chroot,	    SYS_process_vm_readv, SYS_process_vm_writev,
				   SYS_perf_event_open,	    SYS_userfaultfd, SYS_bpf,	     SYS_io_uring_setup};
	enum { N = sizeof rare / sizeof *rare };
	struct sock_filter code[2 * N + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program = {2 * N + 2, code};

	for (int i = 0; i < N; i++) {
		code[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rare[i], 0, 1);
		code[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	code[2 * N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int service(char **argv)
{
	char *again[] = {argv[0], argv[1], "again", NULL};

	if (argv[2]) {
		threads();
		threads();
		return 15;
	}
	if (forbid_rare() != 0)
		return 77;
	execv("/proc/self/exe", again);
	return 1;
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		syscall(SYS_exit, 3);
}

static int strict(void)
{
	work((void *)0);
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		return 77;
	work((void *)0);
	say("strict\n");
	syscall(SYS_exit, 5);
	return 1;
}

static int filter(uint32_t otherwise, int is_all)
{
	pthread_t t;

	threads();
	pthread_create(&t, NULL, work, (void *)0);
	if (confine(otherwise, is_all) != 0)
		return 77;
	say("confined\n");
	pthread_join(t, NULL);
	work((void *)0);
	threads();
	return 6;
}

static int status_of(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int in_child(void)
{
	threads();
	pid_t pid = fork();
	if (pid == 0) {
		if (confine(SECCOMP_RET_KILL_PROCESS, 0) != 0)
			exit(77);
		threads();
		pid = fork();
		if (pid == 0) {
			threads();
			exit(8);
		}
		exit(status_of(pid) + 1);
	}
	printf("child %d\n", status_of(pid));
	return 0;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int root(const char *dir)
{
	threads();
	if (chroot(dir) != 0 || chdir("/") != 0)
		return 77;
	threads();
	threads();
	return 0;
}

static void *keep(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

static int user(void)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t t;

	if (getuid() != 0)
		return 77;
	pthread_mutex_lock(&gate);
	pthread_create(&t, NULL, keep, &gate);
	threads();
	/* glibc asks every thread it knows, by a signal, and waits for all of them. */
	if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
		return 1;
	pthread_mutex_unlock(&gate);
	pthread_join(t, NULL);
	threads();
	printf("user %d\n", (int)getuid());
	return 0;
}

static int files(void)
{
	const struct rlimit small = {16384, 16384}, none = {0, 0};

	work((void *)0); /* alone: whoever writes is us */
	setrlimit(RLIMIT_FSIZE, &small);
	setrlimit(RLIMIT_NOFILE, &none);
	work((void *)0);
	threads();
	printf("open: %d\n", open("/dev/null", O_RDONLY) >= 0);
	return 0;
}

static int memory(void)
{
	const struct rlimit none = {1 << 20, 1 << 20};

	threads();
	mlockall(MCL_CURRENT | MCL_FUTURE);
	setrlimit(RLIMIT_AS, &none);
	work((void *)0);
	printf("mmap: %d\n", mmap(NULL, 1 << 24, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	return 0;
}

static int data(const char *path)
{
	char got[200] = "";

	threads();
	close(2);
	if (open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) != 2)
		return 77;
	threads();
	if (write(2, "data\n", 5) != 5)
		return 1;
	threads();
	const ssize_t n = pread(2, got, sizeof got - 1, 0);
	printf("%zd bytes: %s", n, got);
	return 0;
}

static int broken(char **argv)
{
	int p[2];

	if (argv[2]) { /* second time: 2 is the pipe */
		work((void *)0);
		threads();
		return 0;
	}
	char *again[] = {argv[0], argv[1], "again", NULL};
	if (pipe(p) != 0 || dup2(p[1], 2) != 2)
		return 77;
	close(p[0]);
	close(p[1]);
	execv("/proc/self/exe", again);
	return 1;
}

static int namespace(void)
{
	int r = -1, tries = 0;

	threads();
	/* A thread that was joined may be there a moment longer. */
	while (tries++ < 10000 && (r = unshare(CLONE_NEWUSER)) != 0 && errno == EINVAL)
		sched_yield();
	printf("unshare: %d\n", r ? errno : 0);
	threads();
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "/nonexistent";

	for (int i = 0; i <= THREADS; i++)
		pthread_mutex_init(&own[i], NULL);
	if (!strcmp(what, "strict"))
		return strict();
	if (!strcmp(what, "filter"))
		return filter(SECCOMP_RET_KILL_PROCESS, 0);
	if (!strcmp(what, "sync"))
		return filter(SECCOMP_RET_KILL_PROCESS, 1);
	if (!strcmp(what, "refuse"))
		return filter(SECCOMP_RET_ERRNO | ENOSYS, 1);
	if (!strcmp(what, "service"))
		return service(argv);
	if (!strcmp(what, "child"))
		return in_child();
	if (!strcmp(what, "chroot"))
		return root(arg);
	if (!strcmp(what, "user"))
		return user();
	if (!strcmp(what, "files"))
		return files();
	if (!strcmp(what, "memory"))
		return memory();
	if (!strcmp(what, "stderr"))
		return data(arg);
	if (!strcmp(what, "pipe"))
		return broken(argv);
	if (!strcmp(what, "namespace"))
		return namespace();
	return 2;
}
