/* SPDX-License-Identifier: MIT */
/* Which functions real.c looks up. One row per intercepted function; see real.h. */
#ifndef ATOMMON_PRELOAD_REAL_LIST_H
#define ATOMMON_PRELOAD_REAL_LIST_H

/* Processes, threads, mutexes. */
#define AM_REALS_CORE(X)                                                                           \
	X(int, pthread_create,                                                                     \
	  (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))                        \
	X(int, pthread_join, (pthread_t, void **))                                                 \
	X(int, pthread_tryjoin_np, (pthread_t, void **))                                           \
	X(int, pthread_timedjoin_np, (pthread_t, void **, const struct timespec *))                \
	X(int, pthread_clockjoin_np, (pthread_t, void **, clockid_t, const struct timespec *))     \
	X(int, pthread_detach, (pthread_t))                                                        \
	X(void, pthread_exit, (void *))                                                            \
	X(int, pthread_cancel, (pthread_t))                                                        \
	X(int, pthread_setname_np, (pthread_t, const char *))                                      \
	X(int, pthread_mutex_init, (pthread_mutex_t *, const pthread_mutexattr_t *))               \
	X(int, pthread_mutex_destroy, (pthread_mutex_t *))                                         \
	X(int, pthread_mutex_lock, (pthread_mutex_t *))                                            \
	X(int, pthread_mutex_trylock, (pthread_mutex_t *))                                         \
	X(int, pthread_mutex_timedlock, (pthread_mutex_t *, const struct timespec *))              \
	X(int, pthread_mutex_clocklock, (pthread_mutex_t *, clockid_t, const struct timespec *))   \
	X(int, pthread_mutex_unlock, (pthread_mutex_t *))                                          \
	X(int, pthread_mutex_consistent, (pthread_mutex_t *))                                      \
	X(pid_t, fork, (void))                                                                     \
	X(int, execve, (const char *, char *const *, char *const *))                               \
	X(int, execveat, (int, const char *, char *const *, char *const *, int))                   \
	X(int, execvpe, (const char *, char *const *, char *const *))                              \
	X(int, fexecve, (int, char *const *, char *const *))                                       \
	X(int, posix_spawn,                                                                        \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,   \
	   char *const *, char *const *))                                                          \
	X(int, posix_spawnp,                                                                       \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,   \
	   char *const *, char *const *))                                                          \
	X(void, _exit, (int))                                                                      \
	X(void, quick_exit, (int))                                                                 \
	X(void *, dlopen, (const char *, int))                                                     \
	X(int, dlclose, (void *))

/* Everything else: rwlocks, spin locks, barriers, semaphores, once, C11 threads. */
#define AM_REALS_HOOKS(X)                                                                          \
	X(int, pthread_rwlock_init, (pthread_rwlock_t *, const pthread_rwlockattr_t *))            \
	X(int, pthread_rwlock_destroy, (pthread_rwlock_t *))

/* Functions with two versions in libc: X(field, symbol, version, type, params). */
#define AM_REALS_VERSIONED(X)                                                                      \
	X(cond_wait, "pthread_cond_wait", "GLIBC_2.3.2", int,                                      \
	  (pthread_cond_t *, pthread_mutex_t *))

#endif
