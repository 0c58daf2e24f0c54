/* SPDX-License-Identifier: MIT */
/*
 * What glibc's lock objects say about themselves. Owns the knowledge of their layout; read only,
 * and only while the caller holds the lock or is about to hand it to the real function, as glibc
 * itself would read it then.
 */
#ifndef ATOMMON_PRELOAD_GLIBC_H
#define ATOMMON_PRELOAD_GLIBC_H

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

enum {
	AM_GLIBC_KIND = 3,	   /* low bits of __kind: the pthread type */
	AM_GLIBC_ROBUST = 16,	   /* __kind: dies with its owner */
	AM_GLIBC_INHERIT = 32,	   /* __kind: priority inheritance */
	AM_GLIBC_READER_SHIFT = 3, /* __readers: low bits are flags */
};

static inline int am_glibc_mutex_kind(const pthread_mutex_t *m)
{
	return __atomic_load_n(&m->__data.__kind, __ATOMIC_RELAXED);
}

static inline bool am_glibc_mutex_is_recursive(const pthread_mutex_t *m)
{
	return (am_glibc_mutex_kind(m) & AM_GLIBC_KIND) == PTHREAD_MUTEX_RECURSIVE_NP;
}

/* Would glibc refuse to unlock a mutex of this kind for a thread that does not hold it? */
static inline bool am_glibc_mutex_is_checked(const pthread_mutex_t *m)
{
	const int kind = am_glibc_mutex_kind(m);

	return (kind & AM_GLIBC_KIND) == PTHREAD_MUTEX_RECURSIVE_NP ||
	       (kind & AM_GLIBC_KIND) == PTHREAD_MUTEX_ERRORCHECK_NP ||
	       (kind & (AM_GLIBC_ROBUST | AM_GLIBC_INHERIT));
}

/* Of a checked mutex: does the calling thread hold it? */
static inline bool am_glibc_mutex_is_mine(const pthread_mutex_t *m)
{
	return __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED) == gettid();
}

/* How deep the holder of a recursive mutex is in it. */
static inline unsigned am_glibc_mutex_depth(const pthread_mutex_t *m)
{
	return m->__data.__count;
}

/* Asked by a thread that holds the lock: does it hold it for writing? */
static inline bool am_glibc_rwlock_is_written(const pthread_rwlock_t *l)
{
	return __atomic_load_n(&l->__data.__cur_writer, __ATOMIC_RELAXED) != 0;
}

static inline unsigned am_glibc_rwlock_readers(const pthread_rwlock_t *l)
{
	return __atomic_load_n(&l->__data.__readers, __ATOMIC_RELAXED) >> AM_GLIBC_READER_SHIFT;
}

#endif
