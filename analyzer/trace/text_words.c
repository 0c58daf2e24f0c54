/* The words of the text form, for its reader, its writer and JSON. No state. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/text.h"

const char *const am_text_lost[AM_TEXT_LOST] = {"", "full", "memory", "limit", "torn", "busy"};

const char *const am_text_objects[AM_TEXT_OBJECTS] = {"",     "mutex", "rwlock",  "spin",
						      "cond", "sem",   "barrier", "once",
						      "futex", "waiters"};

const char *const am_text_orders[AM_TEXT_ORDERS] = {"",	       "relaxed", "consume", "acquire",
						    "release", "acq_rel", "seq_cst"};

const char *const am_text_commutes[AM_TEXT_COMMUTES] = {"", "adds", "ors", "ands"};

const struct am_text_flag am_text_flags[AM_TEXT_FLAGS] = {
	{AM_TIMED_OUT, "timed-out"}, {AM_CANCELLED, "cancelled"}, {AM_NESTED, "nested"},
	{AM_VOLATILE, "volatile"},   {AM_OWNERDEAD, "ownerdead"}, {AM_FREED_LOCK, "freed"},
};

const char *am_text_aux(enum am_kind kind)
{
	switch (kind) {
	case AM_WAIT:
	case AM_WAKE:
		return "mutex";
	case AM_ALLOC:
	case AM_FREE:
		return "bytes";
	case AM_LOST:
	case AM_INIT:
		return "count";
	case AM_NAME:
		return "name";
	case AM_WRITE:
		return "was";
	default:
		return "aux";
	}
}

char am_text_object_class(enum am_kind kind)
{
	enum { addr = 'a', thread = 't', string = 's', none = '-' };
	static const char classes[AM_KINDS] = {
#define X(text, name, object, meaning) [AM_##name] = object,
		AM_EVENTS(X)
#undef X
	};
	return (unsigned)kind < AM_KINDS ? classes[kind] : none;
}
