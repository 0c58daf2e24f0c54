/*
 * Ends in every way a process can end, after some events. usage: rt_exit HOW [PAIRS]
 * Two threads lock and unlock a mutex PAIRS times each, then the process ends; the trace must hold
 * all of it. Prints what it does, so that outputs can be compared.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count, pairs = 1000;
static pthread_barrier_t met;

static void *work(void *arg)
{
	for (long i = 0; i < pairs; i++) {
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_unlock(&mutex);
	}
	if (arg) {
		/* Both threads are done and alive when the process ends. */
		pthread_barrier_wait(&met);
		pause();
	}
	return NULL;
}

static void *work_and_exit(void *arg)
{
	work(NULL);
	pthread_mutex_lock(&mutex);
	printf("thread exits with count %ld\n", count);
	fflush(stdout);
	pthread_mutex_unlock(&mutex);
	exit((int)(long)arg);
}

static void *work_after_main(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	work(NULL);
	printf("last thread ends, count %ld\n", count);
	return NULL;
}

static void at_quick(void)
{
	write(1, "quick handler\n", 14);
}

static int child(const char *what)
{
	int status;
	fflush(stdout);
	const pid_t pid = fork();

	if (pid == 0) {
		work(NULL);
		if (!strcmp(what, "fork_exit"))
			exit(3);
		_exit(3);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	printf("child %s with %d\n", WIFEXITED(status) ? "exited" : "died", WEXITSTATUS(status));
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t t[2];

	if (argc > 2)
		pairs = atol(argv[2]);
	setvbuf(stdout, NULL, _IOFBF, 4096);
	if (!strcmp(how, "nothing"))
		return 0;
	if (!strcmp(how, "single")) {
		work(NULL);
		return 4;
	}
	const int live = !strncmp(how, "live_", 5);
	pthread_barrier_init(&met, NULL, 3);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, work, live ? &met : NULL) != 0)
			return 1;
	if (live)
		pthread_barrier_wait(&met);
	else
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
	printf("%s: count %ld\n", how, count);
	if (!strcmp(how, "return") || !strcmp(how, "live_return"))
		return 7;
	fflush(stdout);
	if (!strcmp(how, "exit"))
		exit(8);
	if (!strcmp(how, "_exit") || !strcmp(how, "live__exit"))
		_exit(9);
	if (!strcmp(how, "_Exit"))
		_Exit(10);
	if (!strcmp(how, "quick_exit")) {
		at_quick_exit(at_quick);
		quick_exit(11);
	}
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill") || !strcmp(how, "live_kill"))
		raise(SIGKILL);
	if (!strcmp(how, "thread_exit")) {
		pthread_create(&t[0], NULL, work_and_exit, (void *)12L);
		pause();
	}
	if (!strcmp(how, "pthread_exit")) {
		static pthread_t self;
		self = pthread_self();
		pthread_create(&t[0], NULL, work_after_main, &self);
		pthread_exit(NULL);
	}
	if (!strcmp(how, "exec"))
		execl(argv[0], argv[0], "return", "10", (char *)NULL);
	if (!strcmp(how, "exec_clean")) {
		char *args[] = {argv[0], "return", "10", NULL}, *env[] = {"A=1", NULL};
		execve(argv[0], args, env);
	}
	if (!strcmp(how, "exec_fails")) {
		execl("/nonexistent/program", "x", (char *)NULL);
		printf("exec: %s\n", strerror(errno));
		work(NULL);
		return 13;
	}
	if (!strncmp(how, "fork", 4))
		return child(how);
	if (!strcmp(how, "vfork")) {
		int status;
		const pid_t pid = vfork();
		if (pid == 0) {
			pthread_mutex_lock(&mutex);
			pthread_mutex_unlock(&mutex);
			_exit(5);
		}
		waitpid(pid, &status, 0);
		printf("vfork child %d\n", WEXITSTATUS(status));
		work(NULL);
		return 14;
	}
	return 1;
}
