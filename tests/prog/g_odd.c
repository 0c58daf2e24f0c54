/*
 * Legal and unusual: g_odd WHAT.
 *   altstack   a handler on the smallest alternate stack locks
 *   contexts   user-level threads on small stacks, locks held across switches, moved between threads
 *   clone      children that share memory (as spawn functions of other runtimes make them), one that ends, one
 *              that becomes a program, one whose program does not exist
 *   raw        a thread that libc does not know
 *   spawner    vfork and exec from several threads at once, while others lock
 *   own        the program has a pthread_mutex_lock of its own in front of libc's
 *   timer      libc's own threads call the program back
 *   failing    exec of what is not there, hundreds of times, with threads running
 *   handlers   exit handlers that start threads
 *   undumpable a process that nobody may look into
 *   stopped    stopped and continued again and again, with threads running
 *   fault      an annotated access that faults; the handler jumps out of it
 *   realtime   threads of real-time priority come and go beside others, all on one core
 */
/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "atommon.h"

enum { THREADS = 4, ROUNDS = 20000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long shared, own_calls;
static int is_counting;

/* ---- a lock function of our own -------------------------------------------------------------- */

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*next)(pthread_mutex_t *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	if (is_counting)
		__atomic_add_fetch(&own_calls, 1, __ATOMIC_RELAXED);
	return next(mutex);
}

static void *work(void *n)
{
	for (long i = 0; i < (long)n; i++) {
		pthread_mutex_lock(&m);
		shared++;
		pthread_mutex_unlock(&m);
	}
	return NULL;
}

static void threads(long n)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)n);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static int status_of(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, __WALL) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int own(void)
{
	is_counting = 1;
	threads(ROUNDS);
	printf("%ld calls\n", own_calls);
	return 0;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static long handled;

static void on_signal(int signal)
{
	(void)signal;
	pthread_mutex_lock(&inner);
	handled++;
	pthread_mutex_unlock(&inner);
}

/* What the kernel needs for the frame, and two pages for the handler; a guard below. */
static int altstack(void)
{
	const size_t page = 4096, size = ((size_t)sysconf(_SC_MINSIGSTKSZ) + page - 1) / page * page + 2 * page;
	char *p = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t stack = {.ss_sp = p + page, .ss_size = size};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	mprotect(p, page, PROT_NONE);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 1000; i++)
		raise(SIGUSR1);
	threads(10);
	for (int i = 0; i < 1000; i++)
		raise(SIGUSR1);
	printf("%ld handled\n", handled);
	return 0;
}

enum { CONTEXTS = 8, CONTEXT_STACK = 16384 };
static ucontext_t from[THREADS], context[CONTEXTS];
static int runs_on[CONTEXTS]; /* index into from[] */

static void in_context(int c)
{
	pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;

	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&mine); /* a normal mutex may be held across a switch of stacks */
		pthread_mutex_unlock(&mine);
		pthread_mutex_lock(&m);
		shared++;
		pthread_mutex_unlock(&m);
		swapcontext(&context[c], &from[runs_on[c]]);
	}
	for (;;)
		swapcontext(&context[c], &from[runs_on[c]]);
}

static pthread_barrier_t turn;

static void *carrier(void *arg)
{
	const int self = (int)(long)arg;

	/* Every round another thread carries a context on. */
	for (int round = 0; round < 50; round++) {
		for (int c = 0; c < CONTEXTS; c++)
			if ((c + round) % THREADS == self) {
				runs_on[c] = self;
				swapcontext(&from[self], &context[c]);
			}
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static int contexts(void)
{
	pthread_t t[THREADS];
	static char stack[CONTEXTS][CONTEXT_STACK] __attribute__((aligned(64)));

	pthread_barrier_init(&turn, NULL, THREADS);
	for (int c = 0; c < CONTEXTS; c++) {
		getcontext(&context[c]);
		context[c].uc_stack.ss_sp = stack[c];
		context[c].uc_stack.ss_size = CONTEXT_STACK;
		makecontext(&context[c], (void (*)(void))in_context, 1, c);
	}
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, carrier, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", shared);
	return 0;
}

/* ---- children -------------------------------------------------------------------------------- */

static int ends(void *status)
{
	_exit((int)(long)status);
}

static int becomes(void *path)
{
	char *argv[] = {path, "-c", "exit 9", NULL};

	execv(path, argv);
	_exit(10);
}

static int children(void)
{
	static char stack[64 * 1024] __attribute__((aligned(64)));
	char *const top = stack + sizeof stack;
	const int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;

	threads(ROUNDS);
	printf("%d\n", status_of(clone(ends, top, flags, (void *)7)));
	printf("%d\n", status_of(clone(becomes, top, flags, "/bin/sh")));
	printf("%d\n", status_of(clone(becomes, top, flags, "/nonexistent")));
	threads(ROUNDS);
	printf("%ld\n", shared);
	return 0;
}

static int bare(void *word)
{
	for (int i = 0; i < 1000; i++)
		__atomic_add_fetch((int *)word, 1, __ATOMIC_RELAXED);
	return 0;
}

static int raw(void)
{
	static char stack[64 * 1024] __attribute__((aligned(64)));
	static int word;
	static int tid = 1;

	threads(10);
	if (clone(bare, stack + sizeof stack,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			  CLONE_CHILD_CLEARTID,
		  &word, NULL, NULL, &tid) < 0)
		return 77;
	work((void *)ROUNDS);
	while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		sched_yield();
	printf("%d %ld\n", word, shared);
	return 0;
}

static void *spawns(void *sum)
{
	char *argv[] = {"sh", "-c", "exit 3", NULL}, *env[] = {NULL};

	for (int i = 0; i < 10; i++) {
		const pid_t pid = vfork();
		if (pid == 0) {
			execve("/bin/sh", argv, env);
			_exit(127);
		}
		__atomic_add_fetch((long *)sum, status_of(pid), __ATOMIC_RELAXED);
		work((void *)100);
	}
	return NULL;
}

static int spawner(void)
{
	pthread_t t[THREADS];
	long sum = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, spawns, &sum);
	work((void *)ROUNDS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld\n", sum, shared);
	return 0;
}

static int failing(void)
{
	char *argv[] = {"none", NULL}, *env[] = {NULL};
	pthread_t t;
	int failed = 0;

	pthread_create(&t, NULL, work, (void *)(10 * ROUNDS));
	for (int i = 0; i < 300; i++) {
		failed += execv("/nonexistent", argv) == -1 && errno == ENOENT;
		failed += execve("/", argv, env) == -1 && errno == EACCES;
	}
	pthread_join(t, NULL);
	printf("%d %ld\n", failed, shared);
	fflush(stdout);
	execl("/bin/sh", "sh", "-c", "exit 11", (char *)NULL);
	return 1;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static sem_t called;

static void on_timer(union sigval value)
{
	work(value.sival_ptr);
	sem_post(&called);
}

static int timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer,
				 .sigev_value.sival_ptr = (void *)100};
	const struct itimerspec once = {.it_value.tv_nsec = 1000000};
	timer_t id;

	sem_init(&called, 0, 0);
	for (int i = 0; i < 10; i++) {
		if (timer_create(CLOCK_MONOTONIC, &event, &id) != 0)
			return 77;
		timer_settime(id, 0, &once, NULL);
		while (sem_wait(&called) != 0)
			;
		timer_delete(id);
	}
	threads(100);
	printf("%ld\n", shared);
	return 0;
}

static void at_end(void)
{
	threads(1000);
	printf("at exit: %ld\n", shared);
}

static int handlers(void)
{
	atexit(at_end);
	atexit(at_end);
	threads(1000);
	return 12;
}

static int undumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	threads(ROUNDS);
	threads(ROUNDS);
	printf("%ld %d\n", shared, prctl(PR_GET_DUMPABLE));
	return 0;
}

static int stopped(void)
{
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		threads(10 * ROUNDS);
		_exit(13);
	}
	for (int i = 0; i < 50; i++) {
		kill(pid, SIGSTOP);
		if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)) {
			printf("%d\n", WEXITSTATUS(status));
			return 0;
		}
		kill(pid, SIGCONT);
	}
	printf("%d\n", status_of(pid));
	return 0;
}

static sigjmp_buf out;

static void on_fault(int signal)
{
	siglongjmp(out, signal);
}

static void *load(void *p)
{
	return (void *)(long)ATOMMON_LOAD(*(int *)p);
}

static int fault(void)
{
	int *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = {.sa_handler = on_fault};
	volatile int faults = 0;
	pthread_t t;
	void *got = NULL;

	sigaction(SIGSEGV, &action, NULL);
	threads(10);
	for (int i = 0; i < 100; i++) {
		if (sigsetjmp(out, 1) == 0)
			load(p);
		else
			faults++;
	}
	mprotect(p, 4096, PROT_READ | PROT_WRITE);
	ATOMMON_STORE(*p, 14);
	pthread_create(&t, NULL, load, p); /* another thread, the same place */
	pthread_join(t, &got);
	printf("%d faults, %ld\n", faults, (long)got);
	return 0;
}

static int realtime(void)
{
	const struct sched_param one = {1};
	pthread_attr_t attr;
	cpu_set_t first;
	pthread_t t[THREADS], u;

	CPU_ZERO(&first);
	sched_getaffinity(0, sizeof first, &first);
	for (int i = 0, n = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &first) && n++)
			CPU_CLR(i, &first);
	sched_setaffinity(0, sizeof first, &first);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &one);
	for (int round = 0; round < 100; round++) {
		pthread_create(&u, NULL, work, (void *)100);
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&t[i], &attr, work, (void *)1000) != 0)
				pthread_create(&t[i], NULL, work, (void *)1000);
		for (int i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		pthread_join(u, NULL);
	}
	printf("%ld\n", shared);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} cases[] = {{"altstack", altstack}, {"contexts", contexts}, {"clone", children}, {"raw", raw},
		     {"spawner", spawner},   {"own", own},	     {"timer", timer},	  {"failing", failing},
		     {"handlers", handlers}, {"undumpable", undumpable}, {"stopped", stopped},
		     {"fault", fault},	     {"realtime", realtime}};

	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(argv[1], cases[i].name))
			return cases[i].run();
	return 2;
}
