/*
 * Builder of concurrent trace programs: threads, objects, events. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/ctp_priv.h"

#include <assert.h>

struct am_ctp *am_ctp_new(void)
{
	struct am_ctp *ctp = am_zalloc(1, sizeof *ctp);
	ctp->priv = am_zalloc(1, sizeof *ctp->priv);
	AM_PUSH(ctp->nodes, ctp->node_count, ctp->priv->node_room) = (struct am_expr){ 0 };
	return ctp;
}

void am_ctp_free(struct am_ctp *ctp)
{
	if (!ctp)
		return;
	for (uint32_t i = 0; i < ctp->object_count; i++) {
		free(ctp->objects[i].name);
		free(ctp->objects[i].init);
	}
	for (uint32_t i = 0; i < ctp->thread_count; i++) {
		free(ctp->threads[i].name);
		free(ctp->threads[i].events);
	}
	for (uint32_t i = 0; i < ctp->region_count; i++)
		free(ctp->regions[i].name);
	free(ctp->nodes);
	free(ctp->events);
	free(ctp->objects);
	free(ctp->threads);
	free(ctp->regions);
	free(ctp->orders);
	free(ctp->locs);
	free(ctp->priv->hash);
	free(ctp->priv->memo);
	free(ctp->priv->stamp);
	free(ctp->priv);
	free(ctp);
}

uint32_t am_ctp_thread(struct am_ctp *ctp, const char *name)
{
	AM_PUSH(ctp->threads, ctp->thread_count, ctp->priv->thread_room) =
		(struct am_ctp_thread){ .name = strdup(name), .fork = AM_CTP_NONE };
	return ctp->thread_count - 1;
}

uint32_t am_ctp_object(struct am_ctp *ctp, enum am_ctp_class class, const char *name)
{
	AM_PUSH(ctp->objects, ctp->object_count, ctp->priv->object_room) =
		(struct am_ctp_object){ .name = strdup(name), .class = class, .aligned = true };
	return ctp->object_count - 1;
}

uint32_t am_ctp_data(struct am_ctp *ctp, const char *name, uint32_t size)
{
	const uint32_t o = am_ctp_object(ctp, AM_CTP_DATA, name);
	ctp->objects[o].size = size;
	return o;
}

void am_ctp_init(struct am_ctp *ctp, uint32_t object, uint32_t offset, uint32_t size,
		 uint64_t value)
{
	struct am_ctp_object *o = &ctp->objects[object];
	assert(o->class == AM_CTP_DATA && (uint64_t)offset + size <= o->size && size <= 8);
	if (!o->init)
		o->init = am_zalloc(o->size, 1);
	for (uint32_t i = 0; i < size; i++)
		o->init[offset + i] = (uint8_t)(value >> (8 * i));
}

uint32_t am_ctp_event(struct am_ctp *ctp, uint32_t thread, enum am_kind kind, uint32_t object)
{
	assert(!ctp->finished && thread < ctp->thread_count);
	const uint32_t e = ctp->event_count;
	struct am_ctp_thread *t = &ctp->threads[thread];

	AM_PUSH(ctp->events, ctp->event_count, ctp->priv->event_room) = (struct am_ctp_event){
		.kind = (uint8_t)kind,
		.thread = thread,
		.pos = t->length,
		.object = object,
		.aux = AM_CTP_NONE,
		.origin = e,
		.match = AM_CTP_NONE,
		.region = AM_CTP_NONE,
		.loc = AM_CTP_NONE,
	};
	AM_PUSH(t->events, t->length, t->room) = e;
	return e;
}

static uint32_t access(struct am_ctp *ctp, uint32_t thread, enum am_kind kind, uint32_t object,
		       uint32_t offset, uint32_t size)
{
	if (offset && ctp->nodes[offset].width < 64)
		offset = am_ctp_op(ctp, AM_OP_ZEXT, 64, offset, 0, 0);
	const uint32_t e = am_ctp_event(ctp, thread, kind, object);
	uint64_t at;
	if (offset && am_ctp_is_const(ctp, offset, &at) && at == 0)
		offset = 0;
	ctp->events[e].offset = offset;
	ctp->events[e].size = size;
	if (kind != AM_WRITE)
		ctp->events[e].read = am_ctp_leaf(ctp, e, size * 8);
	return e;
}

uint32_t am_ctp_read(struct am_ctp *ctp, uint32_t thread, uint32_t object, uint32_t offset_node,
		     uint32_t size)
{
	return access(ctp, thread, AM_READ, object, offset_node, size);
}

uint32_t am_ctp_write(struct am_ctp *ctp, uint32_t thread, uint32_t object, uint32_t offset_node,
		      uint32_t size, uint32_t value)
{
	const uint32_t e = access(ctp, thread, AM_WRITE, object, offset_node, size);
	ctp->events[e].value = value;
	return e;
}

uint32_t am_ctp_update(struct am_ctp *ctp, uint32_t thread, uint32_t object, uint32_t offset_node,
		       uint32_t size)
{
	return access(ctp, thread, AM_UPDATE, object, offset_node, size);
}

uint32_t am_ctp_assume(struct am_ctp *ctp, uint32_t thread, uint32_t cond)
{
	const uint32_t e = am_ctp_event(ctp, thread, AM_BRANCH, AM_CTP_NONE);
	ctp->events[e].cond = cond;
	return e;
}

uint32_t am_ctp_assert(struct am_ctp *ctp, uint32_t thread, uint32_t cond)
{
	const uint32_t e = am_ctp_event(ctp, thread, AM_ASSERT, AM_CTP_NONE);
	ctp->events[e].cond = cond;
	return e;
}

uint32_t am_ctp_wait(struct am_ctp *ctp, uint32_t thread, uint32_t cond, uint32_t mutex)
{
	const uint32_t e = am_ctp_event(ctp, thread, AM_WAIT, cond);
	ctp->events[e].aux = mutex;
	return e;
}

uint32_t am_ctp_wake(struct am_ctp *ctp, uint32_t thread, uint32_t cond, uint32_t mutex)
{
	const uint32_t e = am_ctp_event(ctp, thread, AM_WAKE, cond);
	ctp->events[e].aux = mutex;
	return e;
}

uint32_t am_ctp_region(struct am_ctp *ctp, const char *name)
{
	AM_PUSH(ctp->regions, ctp->region_count, ctp->priv->region_room) = (struct am_ctp_region){
		.name = strdup(name), .begin = AM_CTP_NONE, .end = AM_CTP_NONE, .thread = AM_CTP_NONE
	};
	return ctp->region_count - 1;
}

void am_ctp_order(struct am_ctp *ctp, uint32_t before, uint32_t after)
{
	AM_PUSH(ctp->orders, ctp->order_count, ctp->priv->order_room) =
		(struct am_ctp_edge){ .before = before, .after = after };
}
