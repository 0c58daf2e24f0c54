/* SPDX-License-Identifier: MIT */
/*
 * atommon: say which code is meant to be atomic, and which memory it shares. C and C++.
 *
 * Nothing to link: the functions are weak. Without libatommon.so preloaded each call is one
 * predictable branch. Define ATOMMON_DISABLE to compile all of it away.
 *
 *	ATOMMON_REGION("transfer") {            ends however the block is left
 *		long b = ATOMMON_LOAD(from->balance);
 *		ATOMMON_STORE(from->balance, b - amount);
 *	}
 *
 * In C++, code that builds with warnings as errors may prefer `atommon::region r("transfer");`.
 */
#ifndef ATOMMON_ATOMMON_H
#define ATOMMON_ATOMMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ATOMMON_DISABLE
#define ATOMMON_WEAK_ __attribute__((weak))
/* In the preload library. Weak here: null when it is not loaded. */
void atommon_begin_(const char *name) ATOMMON_WEAK_;
void atommon_end_(void) ATOMMON_WEAK_;
void atommon_read_(const volatile void *p, size_t n) ATOMMON_WEAK_;
void atommon_write_(const volatile void *p, size_t n) ATOMMON_WEAK_;
void atommon_name_(const volatile void *p, size_t n, const char *name) ATOMMON_WEAK_;
/* Perform the access of n = 1, 2, 4 or 8 bytes and log it with its value, in one step. */
void atommon_load_(const volatile void *p, void *value, size_t n) ATOMMON_WEAK_;
void atommon_store_(volatile void *p, const void *value, size_t n) ATOMMON_WEAK_;
#define ATOMMON_CALL_(function, ...)                                                               \
	(__builtin_expect(function != NULL, 0) ? function(__VA_ARGS__) : (void)0)
#else
#define ATOMMON_CALL_(function, ...) ((void)0)
#endif

/* The region `name` begins here, in this thread. Regions nest. */
static inline void atommon_begin(const char *name)
{
	(void)name;
	ATOMMON_CALL_(atommon_begin_, name);
}

/* The innermost open region of this thread ends. */
static inline void atommon_end(void)
{
	ATOMMON_CALL_(atommon_end_, );
}

/* This thread is about to read (has just written) n bytes at p. */
static inline void atommon_read(const volatile void *p, size_t n)
{
	(void)p, (void)n;
	ATOMMON_CALL_(atommon_read_, p, n);
}

static inline void atommon_write(const volatile void *p, size_t n)
{
	(void)p, (void)n;
	ATOMMON_CALL_(atommon_write_, p, n);
}

/* Reports call the n bytes at p `name`. */
static inline void atommon_name(const volatile void *p, size_t n, const char *name)
{
	(void)p, (void)n, (void)name;
	ATOMMON_CALL_(atommon_name_, p, n, name);
}

#ifdef __cplusplus
}
#endif

#define ATOMMON_CAT_(a, b) ATOMMON_CAT2_(a, b)
#define ATOMMON_CAT2_(a, b) a##b

#ifndef __cplusplus

struct atommon_scope_ {
	int is_open;
};

static inline struct atommon_scope_ atommon_enter_(const char *name)
{
	struct atommon_scope_ scope = {1};
	atommon_begin(name);
	return scope;
}

static inline void atommon_leave_(struct atommon_scope_ *scope)
{
	(void)scope;
	atommon_end();
}

/* A loop that runs once; `break`, `return` and `goto` out of it end the region as well. */
#define ATOMMON_REGION(name) ATOMMON_REGION_(name, ATOMMON_CAT_(atommon_scope_, __LINE__))
#define ATOMMON_REGION_(name, scope)                                                               \
	for (struct atommon_scope_ scope __attribute__((cleanup(atommon_leave_))) =                \
		     atommon_enter_(name);                                                         \
	     scope.is_open; scope.is_open = 0)

#ifndef ATOMMON_DISABLE
/* The value of the lvalue; read and logged in one step. */
#define ATOMMON_LOAD(lvalue)                                                                       \
	__extension__({                                                                            \
		__typeof__(lvalue) volatile *atommon_p_ = &(lvalue);                               \
		__typeof__(({ (lvalue); })) atommon_v_;                                            \
		if (__builtin_expect(atommon_load_ != NULL, 0))                                    \
			atommon_load_(atommon_p_, &atommon_v_, sizeof(lvalue));                    \
		else                                                                               \
			atommon_v_ = *atommon_p_;                                                  \
		atommon_v_;                                                                        \
	})

/* Assign the value to the lvalue; written and logged in one step. */
#define ATOMMON_STORE(lvalue, value)                                                               \
	__extension__({                                                                            \
		__typeof__(lvalue) volatile *atommon_p_ = &(lvalue);                               \
		__typeof__(({ (lvalue); })) atommon_v_ = (value);                                  \
		if (__builtin_expect(atommon_store_ != NULL, 0))                                   \
			atommon_store_(atommon_p_, &atommon_v_, sizeof(lvalue));                   \
		else                                                                               \
			*atommon_p_ = atommon_v_;                                                  \
		(void)0;                                                                           \
	})
#else
#define ATOMMON_LOAD(lvalue) (*(__typeof__(lvalue) volatile *)&(lvalue))
#define ATOMMON_STORE(lvalue, value) ((void)(*(__typeof__(lvalue) volatile *)&(lvalue) = (value)))
#endif

#else /* C++ */

namespace atommon {

class region {
public:
	explicit region(const char *name) : open_(true) { atommon_begin(name); }
	~region() { atommon_end(); }
	region(const region &) = delete;
	region &operator=(const region &) = delete;
	bool once() { return open_; }
	void done() { open_ = false; }

private:
	bool open_;
};

namespace detail {
template <class T> struct plain {
	typedef T type;
};
template <class T> struct plain<const T> {
	typedef T type;
};
template <class T> struct plain<volatile T> {
	typedef T type;
};
template <class T> struct plain<const volatile T> {
	typedef T type;
};

template <class T> inline typename plain<T>::type load(T &lvalue)
{
#ifndef ATOMMON_DISABLE
	if (__builtin_expect(atommon_load_ != nullptr, 0)) {
		typename plain<T>::type v;
		atommon_load_(&lvalue, &v, sizeof v);
		return v;
	}
#endif
	return *static_cast<const volatile T *>(&lvalue);
}

template <class T> inline void store(T &lvalue, typename plain<T>::type v)
{
#ifndef ATOMMON_DISABLE
	if (__builtin_expect(atommon_store_ != nullptr, 0)) {
		atommon_store_(&lvalue, &v, sizeof v);
		return;
	}
#endif
	*static_cast<volatile T *>(&lvalue) = v;
}
} /* namespace detail */
} /* namespace atommon */

#define ATOMMON_REGION(name)                                                                       \
	for (::atommon::region ATOMMON_CAT_(atommon_region_, __LINE__)(name);                      \
	     ATOMMON_CAT_(atommon_region_, __LINE__).once();                                       \
	     ATOMMON_CAT_(atommon_region_, __LINE__).done())
#define ATOMMON_LOAD(lvalue) ::atommon::detail::load(lvalue)
#define ATOMMON_STORE(lvalue, value) ::atommon::detail::store(lvalue, value)

#endif
#endif
