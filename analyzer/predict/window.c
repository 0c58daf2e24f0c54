/* What lasts of the events before a window. The list is short; it is searched from its end. */
/* SPDX-License-Identifier: MIT */
#include "window.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct am_window *w, uint32_t i)
{
	memmove(&w->live.at[i], &w->live.at[i + 1], (w->live.n - i - 1) * sizeof *w->live.at);
	w->live.n--;
}

enum { ANY = UINT32_MAX };

/* The newest event of this kind on the object (and by the thread, unless any); -1: none. */
static int64_t newest(const struct am_window *w, uint8_t kind, uint64_t object, uint32_t thread)
{
	for (uint32_t i = w->live.n; i-- > 0;) {
		const struct am_event *e = &w->live.at[i];
		if (e->kind == kind && e->object == object && (thread == ANY || e->thread == thread))
			return i;
	}
	return -1;
}

static bool forget(struct am_window *w, uint8_t kind, uint64_t object, uint32_t thread)
{
	const int64_t i = newest(w, kind, object, thread);

	if (i >= 0)
		drop(w, (uint32_t)i);
	return i >= 0;
}

static void forget_all(struct am_window *w, uint8_t kind, uint64_t object)
{
	while (forget(w, kind, object, ANY))
		;
}

static void keep(struct am_window *w, const struct am_event *event)
{
	*vec_push(&w->live) = *event;
}

/* The thread holds the mutex of a wait. */
static void keep_mutex(struct am_window *w, const struct am_event *event)
{
	struct am_event held = *event;

	if (!event->aux)
		return;
	held.kind = AM_ACQUIRE;
	held.object = event->aux;
	held.aux = 0;
	held.mode = AM_EXCLUSIVE;
	keep(w, &held);
}

static void end_wait(struct am_window *w, const struct am_event *event)
{
	const int64_t i = newest(w, AM_WAIT, event->object, event->thread);

	if (i >= 0) {
		const uint64_t mutex = w->live.at[i].aux;
		drop(w, (uint32_t)i);
		if (mutex) /* that of keep_mutex, right before it */
			drop(w, (uint32_t)i - 1);
	}
	if (newest(w, AM_WAIT, event->object, ANY) < 0) {
		forget_all(w, AM_SIGNAL, event->object);
		forget_all(w, AM_BROADCAST, event->object);
	}
	keep_mutex(w, event);
}

static uint32_t count(const struct am_window *w, uint8_t kind, uint64_t object)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->live.n; i++)
		n += w->live.at[i].kind == kind && w->live.at[i].object == object;
	return n;
}

/* A barrier's threads have all left: nothing of that round lasts. */
static void leave(struct am_window *w, const struct am_event *event)
{
	keep(w, event);
	if (count(w, AM_LEAVE, event->object) < count(w, AM_ARRIVE, event->object))
		return;
	forget_all(w, AM_ARRIVE, event->object);
	forget_all(w, AM_LEAVE, event->object);
}

static void change_count(struct am_window *w, const struct am_event *event)
{
	const int64_t i = newest(w, AM_INIT, event->object, ANY);

	if (i < 0)
		return;
	if (event->kind == AM_POST)
		w->live.at[i].aux++;
	else
		w->live.at[i].aux -= w->live.at[i].aux > 0;
}

void am_window_pass(struct am_window *w, const struct am_event *event)
{
	const uint64_t object = event->object;

	switch (event->kind) {
	case AM_ACQUIRE:
	case AM_ARRIVE:
	case AM_ONCE_BEGIN:
	case AM_BEGIN:
		keep(w, event);
		break;
	case AM_RELEASE:
		forget(w, AM_ACQUIRE, object, event->thread);
		break;
	case AM_WAIT:
		forget(w, AM_ACQUIRE, event->aux, event->thread);
		keep_mutex(w, event);
		keep(w, event);
		break;
	case AM_WAKE:
		end_wait(w, event);
		break;
	case AM_SIGNAL:
	case AM_BROADCAST:
		if (newest(w, AM_WAIT, object, ANY) >= 0)
			keep(w, event);
		break;
	case AM_POST:
	case AM_TAKE:
		change_count(w, event);
		break;
	case AM_LEAVE:
		leave(w, event);
		break;
	case AM_ONCE_END:
		forget(w, AM_ONCE_BEGIN, object, event->thread);
		if (event->mode != AM_ONCE_ABANDONED && newest(w, AM_ONCE_END, object, ANY) < 0)
			keep(w, event);
		break;
	case AM_END:
		for (uint32_t i = w->live.n; i-- > 0;)
			if (w->live.at[i].kind == AM_BEGIN && w->live.at[i].thread == event->thread) {
				drop(w, i);
				break;
			}
		break;
	case AM_INIT:
		forget(w, AM_INIT, object, ANY);
		if (event->mode == AM_OBJ_SEM || event->mode == AM_OBJ_BARRIER)
			keep(w, event);
		break;
	case AM_DESTROY:
		forget(w, AM_INIT, object, ANY);
		break;
	default:
		break;
	}
}

void am_window_free(struct am_window *w)
{
	free(w->live.at);
	memset(w, 0, sizeof *w);
}
