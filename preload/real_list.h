/* SPDX-License-Identifier: MIT */
/* Which functions real.c looks up. One row per intercepted function; see real.h. */
#ifndef ATOMMON_PRELOAD_REAL_LIST_H
#define ATOMMON_PRELOAD_REAL_LIST_H

/* Processes, threads, mutexes. Mutexes first: the lookup of the others may call an allocator that
 * locks. */
#define AM_REALS_CORE(X)                                                                           \
	X(int, pthread_mutex_init, (pthread_mutex_t *, const pthread_mutexattr_t *))               \
	X(int, pthread_mutex_destroy, (pthread_mutex_t *))                                         \
	X(int, pthread_mutex_lock, (pthread_mutex_t *))                                            \
	X(int, pthread_mutex_trylock, (pthread_mutex_t *))                                         \
	X(int, pthread_mutex_timedlock, (pthread_mutex_t *, const struct timespec *))              \
	X(int, pthread_mutex_clocklock, (pthread_mutex_t *, clockid_t, const struct timespec *))   \
	X(int, pthread_mutex_unlock, (pthread_mutex_t *))                                          \
	X(int, pthread_mutex_consistent, (pthread_mutex_t *))                                      \
	X(int, pthread_create,                                                                     \
	  (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))                        \
	X(int, pthread_join, (pthread_t, void **))                                                 \
	X(int, pthread_tryjoin_np, (pthread_t, void **))                                           \
	X(int, pthread_timedjoin_np, (pthread_t, void **, const struct timespec *))                \
	X(int, pthread_clockjoin_np, (pthread_t, void **, clockid_t, const struct timespec *))     \
	X(int, pthread_setname_np, (pthread_t, const char *))                                      \
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
	X(int, daemon, (int, int))                                                                 \
	X(int, prctl, (int, ...))                                                                  \
	X(int, unshare, (int))                                                                     \
	X(int, setns, (int, int))                                                                  \
	X(long, syscall, (long, ...))                                                              \
	X(void, _exit, (int))                                                                      \
	X(void, longjmp, (struct __jmp_buf_tag *, int))                                            \
	X(void, _longjmp, (struct __jmp_buf_tag *, int))                                           \
	X(void, siglongjmp, (struct __jmp_buf_tag *, int))                                         \
	X(void, __longjmp_chk, (struct __jmp_buf_tag *, int))                                      \
	X(void, abort, (void))                                                                     \
	X(void, __assert_fail, (const char *, const char *, unsigned, const char *))               \
	X(void, __assert_perror_fail, (int, const char *, unsigned, const char *))

/* Memory. */
#define AM_REALS_MEMORY(X)                                                                         \
	X(void *, malloc, (size_t))                                                                \
	X(void, free, (void *))                                                                    \
	X(void *, calloc, (size_t, size_t))                                                        \
	X(void *, realloc, (void *, size_t))                                                       \
	X(void *, aligned_alloc, (size_t, size_t))                                                 \
	X(void *, memalign, (size_t, size_t))                                                      \
	X(int, posix_memalign, (void **, size_t, size_t))                                          \
	X(size_t, malloc_usable_size, (void *))                                                    \
	X(void *, mmap, (void *, size_t, int, int, int, off_t))                                    \
	X(int, munmap, (void *, size_t))

/* Everything else: rwlocks, spin locks, barriers, semaphores, once, C11 threads. */
#define AM_REALS_HOOKS(X)                                                                          \
	X(int, pthread_rwlock_init, (pthread_rwlock_t *, const pthread_rwlockattr_t *))            \
	X(int, pthread_rwlock_destroy, (pthread_rwlock_t *))                                       \
	X(int, pthread_rwlock_rdlock, (pthread_rwlock_t *))                                        \
	X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *))                                     \
	X(int, pthread_rwlock_wrlock, (pthread_rwlock_t *))                                        \
	X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *))                                     \
	X(int, pthread_rwlock_unlock, (pthread_rwlock_t *))                                        \
	X(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *, const struct timespec *))          \
	X(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *, const struct timespec *))          \
	X(int, pthread_rwlock_clockrdlock,                                                         \
	  (pthread_rwlock_t *, clockid_t, const struct timespec *))                                \
	X(int, pthread_rwlock_clockwrlock,                                                         \
	  (pthread_rwlock_t *, clockid_t, const struct timespec *))                                \
	X(int, pthread_spin_init, (pthread_spinlock_t *, int))                                     \
	X(int, pthread_spin_destroy, (pthread_spinlock_t *))                                       \
	X(int, pthread_spin_lock, (pthread_spinlock_t *))                                          \
	X(int, pthread_spin_trylock, (pthread_spinlock_t *))                                       \
	X(int, pthread_spin_unlock, (pthread_spinlock_t *))                                        \
	X(int, pthread_barrier_init,                                                               \
	  (pthread_barrier_t *, const pthread_barrierattr_t *, unsigned))                          \
	X(int, pthread_barrier_destroy, (pthread_barrier_t *))                                     \
	X(int, pthread_barrier_wait, (pthread_barrier_t *))                                        \
	X(int, sem_init, (sem_t *, int, unsigned))                                                 \
	X(int, sem_destroy, (sem_t *))                                                             \
	X(int, sem_wait, (sem_t *))                                                                \
	X(int, sem_trywait, (sem_t *))                                                             \
	X(int, sem_post, (sem_t *))                                                                \
	X(int, sem_close, (sem_t *))                                                               \
	X(int, sem_timedwait, (sem_t *, const struct timespec *))                                  \
	X(int, sem_clockwait, (sem_t *, clockid_t, const struct timespec *))                       \
	X(int, sem_getvalue, (sem_t *, int *))                                                     \
	X(sem_t *, sem_open, (const char *, int, ...))                                             \
	X(int, pthread_once, (pthread_once_t *, void (*)(void)))                                   \
	X(int, pthread_cond_clockwait,                                                             \
	  (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))               \
	X(void, call_once, (once_flag *, void (*)(void)))                                          \
	X(int, mtx_init, (mtx_t *, int))                                                           \
	X(void, mtx_destroy, (mtx_t *))                                                            \
	X(int, mtx_lock, (mtx_t *))                                                                \
	X(int, mtx_trylock, (mtx_t *))                                                             \
	X(int, mtx_unlock, (mtx_t *))                                                              \
	X(int, mtx_timedlock, (mtx_t *, const struct timespec *))                                  \
	X(int, cnd_init, (cnd_t *))                                                                \
	X(void, cnd_destroy, (cnd_t *))                                                            \
	X(int, cnd_signal, (cnd_t *))                                                              \
	X(int, cnd_broadcast, (cnd_t *))                                                           \
	X(int, cnd_wait, (cnd_t *, mtx_t *))                                                       \
	X(int, cnd_timedwait, (cnd_t *, mtx_t *, const struct timespec *))                         \
	X(void *, dlopen, (const char *, int))                                                     \
	X(int, pthread_attr_getsigmask_np, (const pthread_attr_t *, sigset_t *))                   \
	X(int, thrd_create, (thrd_t *, thrd_start_t, void *))                                      \
	X(int, thrd_join, (thrd_t, int *))

/* Functions with two versions in libc: X(field, symbol, version, type, params). */
#define AM_REALS_VERSIONED(X)                                                                      \
	X(cond_init, "pthread_cond_init", "GLIBC_2.3.2", int,                                      \
	  (pthread_cond_t *, const pthread_condattr_t *))                                          \
	X(cond_destroy, "pthread_cond_destroy", "GLIBC_2.3.2", int, (pthread_cond_t *))            \
	X(cond_wait, "pthread_cond_wait", "GLIBC_2.3.2", int,                                      \
	  (pthread_cond_t *, pthread_mutex_t *))                                                   \
	X(cond_timedwait, "pthread_cond_timedwait", "GLIBC_2.3.2", int,                            \
	  (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))                          \
	X(cond_signal, "pthread_cond_signal", "GLIBC_2.3.2", int, (pthread_cond_t *))              \
	X(cond_broadcast, "pthread_cond_broadcast", "GLIBC_2.3.2", int, (pthread_cond_t *))        \
	X(cond_init_old, "pthread_cond_init", "GLIBC_2.2.5", int,                                  \
	  (pthread_cond_t *, const pthread_condattr_t *))                                          \
	X(cond_destroy_old, "pthread_cond_destroy", "GLIBC_2.2.5", int, (pthread_cond_t *))        \
	X(cond_wait_old, "pthread_cond_wait", "GLIBC_2.2.5", int,                                  \
	  (pthread_cond_t *, pthread_mutex_t *))                                                   \
	X(cond_timedwait_old, "pthread_cond_timedwait", "GLIBC_2.2.5", int,                        \
	  (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))                          \
	X(cond_signal_old, "pthread_cond_signal", "GLIBC_2.2.5", int, (pthread_cond_t *))          \
	X(cond_broadcast_old, "pthread_cond_broadcast", "GLIBC_2.2.5", int, (pthread_cond_t *))

#endif
