/*
 * Processes: g_fork thread|lock|bomb|vfork|spawn|exec|closefds|daemon|libc-daemon [N]. Children go on locking
 * and creating threads; every exit status is collected, so the output does not depend on the
 * schedule.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long shared;

static void *work(void *n)
{
	for (long i = 0; i < (long)n; i++) {
		pthread_mutex_lock(&m);
		shared++;
		pthread_mutex_unlock(&m);
	}
	return NULL;
}

static int status_of(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* What a child does: locks alone, then with two threads of its own. */
static int child(void)
{
	pthread_t t[2];

	work((void *)50);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, (void *)50);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return shared >= 150 ? 40 : 1;
}

static void *fork_here(void *out)
{
	work((void *)10);
	pthread_mutex_lock(&m); /* else the child may inherit it locked by the busy thread, for good */
	const pid_t pid = fork();
	pthread_mutex_unlock(&m);
	if (pid == 0)
		_exit(child());
	*(int *)out = status_of(pid);
	work((void *)10);
	return NULL;
}

static int in_thread(void)
{
	pthread_t t, u;
	int status = -1;

	pthread_create(&u, NULL, work, (void *)5000); /* busy locking all the while */
	pthread_create(&t, NULL, fork_here, &status);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	printf("child of a thread: %d\n", status);
	return 0;
}

/* The classic: fork without exec, the child holds the lock that its parent held. */
static int keep_locking(void)
{
	pthread_mutex_lock(&m);
	const pid_t pid = fork();
	if (pid == 0) {
		shared += 1000;
		pthread_mutex_unlock(&m);
		exit(child());
	}
	pthread_mutex_unlock(&m);
	printf("child: %d\n", status_of(pid));
	return 0;
}

static int bomb(int n)
{
	pid_t *pid = calloc((size_t)n, sizeof *pid);
	int good = 0;

	for (int i = 0; i < n; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(child());
	}
	for (int i = 0; i < n; i++)
		good += status_of(pid[i]) == 40;
	printf("%d of %d children\n", good, n);
	free(pid);
	return 0;
}

static int vfork_child(char **argv)
{
	volatile int touched = 0;
	const pid_t pid = vfork();

	if (pid == 0) {
		touched = 1;
		pthread_mutex_lock(&m); /* frowned upon, and done: the child runs in our memory */
		pthread_mutex_unlock(&m);
		execl(argv[0], argv[0], "leaf", (char *)NULL);
		_exit(9);
	}
	work((void *)10);
	printf("vfork: %d, touched %d\n", status_of(pid), touched);
	return 0;
}

static int spawn_child(char **argv)
{
	char *args[] = {argv[0], "leaf", NULL};
	pid_t pid;

	work((void *)10);
	const int r = posix_spawn(&pid, argv[0], NULL, NULL, args, environ);
	printf("spawn: %d status %d\n", r, status_of(pid));
	printf("system: %d\n", WEXITSTATUS(system("exit 5")));
	FILE *f = popen("echo from popen", "r");
	char line[64] = "";
	if (f && fgets(line, sizeof line, f))
		printf("%s", line);
	if (f)
		pclose(f);
	return 0;
}

static int exec_chain(char **argv, int n)
{
	char depth[16];

	printf("depth %d\n", n);
	fflush(stdout);
	child();
	if (n == 0)
		return 41;
	snprintf(depth, sizeof depth, "%d", n - 1);
	switch (n % 4) {
	case 0:
		execl(argv[0], argv[0], "exec", depth, (char *)NULL);
		break;
	case 1:
		execv(argv[0], (char *[]){argv[0], "exec", depth, NULL});
		break;
	case 2:
		execve(argv[0], (char *[]){argv[0], "exec", depth, NULL}, environ);
		break;
	default:
		execlp(argv[0], argv[0], "exec", depth, (char *)NULL);
	}
	return 9;
}

/* As daemons do: close every descriptor but the standard ones, then go on. */
static int close_all(int in_child)
{
	work((void *)100);
	if (in_child) {
		const pid_t pid = fork();
		if (pid) {
			printf("daemon's status: %d\n", status_of(pid));
			return 0;
		}
		setsid();
		if (chdir("/"))
			return 1;
	}
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	const int status = child();
	return in_child ? status : status + (dup(1) == 3 ? 0 : 100);
}

/* daemon() forks and leaves the parent inside libc, by no function that a preload could see. */
static int libc_daemon(void)
{
	int fd[2];
	char byte;

	if (pipe(fd))
		return 1;
	const pid_t pid = fork();
	if (pid == 0) {
		close(fd[0]);
		work((void *)100);
		if (daemon(1, 1))
			_exit(1);
		byte = (char)('0' + child() % 10);
		return write(fd[1], &byte, 1) != 1;
	}
	close(fd[1]);
	printf("status of the one that left: %d\n", status_of(pid));
	printf("bytes from the daemon: %ld\n", (long)read(fd[0], &byte, 1));
	printf("at its end: %ld\n", (long)read(fd[0], &byte, 1));
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "thread";
	const int n = argc > 2 ? atoi(argv[2]) : 5;

	if (!strcmp(how, "thread"))
		return in_thread();
	if (!strcmp(how, "lock"))
		return keep_locking();
	if (!strcmp(how, "bomb"))
		return bomb(n);
	if (!strcmp(how, "vfork"))
		return vfork_child(argv);
	if (!strcmp(how, "spawn"))
		return spawn_child(argv);
	if (!strcmp(how, "exec"))
		return exec_chain(argv, n);
	if (!strcmp(how, "closefds"))
		return close_all(0);
	if (!strcmp(how, "daemon"))
		return close_all(1);
	if (!strcmp(how, "libc-daemon"))
		return libc_daemon();
	return child(); /* leaf */
}
