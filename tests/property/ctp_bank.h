/* SPDX-License-Identifier: MIT */
/*
 * The bank example in the manner of Wang et al., Table 1, as a trace program: N tellers with a
 * transaction block each, and the main thread, which adjusts the same total.
 *
 *   av   the block reads the total in one critical section and writes it in another: every candidate
 *        is real
 *   nav  blocks are entered and left through a shared flag, tested and set under a lock with a condition
 *        wait around it, and an owner variable: no candidate is real
 *   sav  two such flags, for even and odd tellers (main: even): some are real
 *
 * Around the blocks each teller does other work under nested locks, with data flow and branches.
 */
#ifndef ATOMMON_TESTS_CTP_BANK_H
#define ATOMMON_TESTS_CTP_BANK_H

#include "analyzer/predict/ctp.h"

#include <stdio.h>

enum bank_kind { BANK_AV, BANK_SAV, BANK_NAV };

struct bank {
	struct am_ctp *c;
	enum bank_kind kind;
	uint32_t tellers, work; /* rounds of other work before and after the block */
	uint32_t total, bank_lock, stat_lock, log_lock, log;
	uint32_t busy[2], owner[2], gate[2], open[2];
	uint32_t account[32], account_lock[32], stat[32];
};

static inline uint32_t bank_k(struct bank *b, uint64_t v)
{
	return am_ctp_const(b->c, 32, v);
}

static inline uint32_t bank_read(struct bank *b, uint32_t t, uint32_t object)
{
	return am_ctp_at(b->c, am_ctp_read(b->c, t, object, 0, 4))->read;
}

static inline void bank_lock(struct bank *b, uint32_t t, uint32_t lock, bool take)
{
	am_ctp_event(b->c, t, take ? AM_ACQUIRE : AM_RELEASE, lock);
}

static inline uint32_t bank_plus(struct bank *b, uint32_t node, uint32_t k)
{
	return am_ctp_op(b->c, AM_OP_ADD, 32, node, bank_k(b, k), 0);
}

/* A deposit on some account, logged: two locks, one inside the other. */
static inline void bank_work(struct bank *b, uint32_t t, uint32_t who, uint32_t round)
{
	const uint32_t a = (who + round) % b->tellers;
	bank_lock(b, t, b->account_lock[a], true);
	const uint32_t old = bank_read(b, t, b->account[a]);
	am_ctp_assume(b->c, t, am_ctp_op(b->c, AM_OP_ULT, 1, old, bank_k(b, 1000000), 0));
	bank_lock(b, t, b->log_lock, true);
	am_ctp_write(b->c, t, b->log, 0, 4, bank_plus(b, bank_read(b, t, b->log), 1));
	bank_lock(b, t, b->log_lock, false);
	am_ctp_write(b->c, t, b->account[a], 0, 4, bank_plus(b, old, 1 + round));
	bank_lock(b, t, b->account_lock[a], false);
}

static inline void bank_enter(struct bank *b, uint32_t t, uint32_t who, uint32_t g, bool waits)
{
	const uint32_t zero = bank_k(b, 0);
	bank_lock(b, t, b->gate[g], true);
	if (waits) {
		const uint32_t r = bank_read(b, t, b->busy[g]);
		am_ctp_assume(b->c, t, am_ctp_op(b->c, AM_OP_NE, 1, r, zero, 0));
		am_ctp_wait(b->c, t, b->open[g], b->gate[g]);
		am_ctp_wake(b->c, t, b->open[g], b->gate[g]);
	}
	const uint32_t r = bank_read(b, t, b->busy[g]);
	am_ctp_assume(b->c, t, am_ctp_op(b->c, AM_OP_EQ, 1, r, zero, 0));
	am_ctp_write(b->c, t, b->busy[g], 0, 4, bank_k(b, 1));
	am_ctp_write(b->c, t, b->owner[g], 0, 4, bank_k(b, who + 1));
	bank_lock(b, t, b->gate[g], false);
}

static inline void bank_leave(struct bank *b, uint32_t t, uint32_t who, uint32_t g)
{
	bank_lock(b, t, b->gate[g], true);
	const uint32_t r = bank_read(b, t, b->owner[g]);
	am_ctp_assume(b->c, t, am_ctp_op(b->c, AM_OP_EQ, 1, r, bank_k(b, who + 1), 0));
	am_ctp_write(b->c, t, b->busy[g], 0, 4, bank_k(b, 0));
	am_ctp_event(b->c, t, AM_SIGNAL, b->open[g]);
	bank_lock(b, t, b->gate[g], false);
}

/* The transaction: total += amount, in two critical sections. */
static inline void bank_block(struct bank *b, uint32_t t, uint32_t who)
{
	char name[24];
	snprintf(name, sizeof name, "transfer%u", who);
	const uint32_t region = am_ctp_region(b->c, name);
	am_ctp_event(b->c, t, AM_BEGIN, region);
	bank_lock(b, t, b->bank_lock, true);
	bank_lock(b, t, b->stat_lock, true);
	const uint32_t old = bank_read(b, t, b->total);
	am_ctp_write(b->c, t, b->stat[who], 0, 4, bank_plus(b, old, 0));
	bank_lock(b, t, b->stat_lock, false);
	bank_lock(b, t, b->bank_lock, false);
	am_ctp_assume(b->c, t, am_ctp_op(b->c, AM_OP_ULT, 1, old, bank_k(b, 1000000), 0));
	bank_lock(b, t, b->bank_lock, true);
	am_ctp_write(b->c, t, b->total, 0, 4, bank_plus(b, old, 10 + who));
	bank_lock(b, t, b->bank_lock, false);
	am_ctp_event(b->c, t, AM_END, region);
}

static inline void bank_teller(struct bank *b, uint32_t t, uint32_t who)
{
	const uint32_t g = b->kind == BANK_SAV ? who % 2 : 0;
	for (uint32_t r = 0; r < b->work; r++)
		bank_work(b, t, who, r);
	if (b->kind != BANK_AV)
		bank_enter(b, t, who, g, b->work && who % 3 == 2);
	bank_block(b, t, who);
	if (b->kind != BANK_AV)
		bank_leave(b, t, who, g);
	for (uint32_t r = 0; r < b->work; r++)
		bank_work(b, t, who, r + 1);
}

/* main: between fork and join it adjusts the total, through the same gate. */
static inline void bank_main(struct bank *b)
{
	bank_lock(b, 0, b->bank_lock, true);
	am_ctp_write(b->c, 0, b->total, 0, 4, bank_k(b, 100));
	bank_lock(b, 0, b->bank_lock, false);
	for (uint32_t i = 0; i < b->tellers; i++)
		am_ctp_event(b->c, 0, AM_FORK, i + 1);
	if (b->kind != BANK_AV)
		bank_enter(b, 0, 99, 0, false);
	bank_lock(b, 0, b->bank_lock, true);
	am_ctp_write(b->c, 0, b->total, 0, 4, bank_plus(b, bank_read(b, 0, b->total), 5));
	bank_lock(b, 0, b->bank_lock, false);
	if (b->kind != BANK_AV)
		bank_leave(b, 0, 99, 0);
	for (uint32_t i = 0; i < b->tellers; i++)
		am_ctp_event(b->c, 0, AM_JOIN, i + 1);
	bank_lock(b, 0, b->bank_lock, true);
	am_ctp_write(b->c, 0, b->total, 0, 4, bank_k(b, 0));
	bank_lock(b, 0, b->bank_lock, false);
}

static inline uint32_t bank_name(struct bank *b, enum am_ctp_class class, const char *format,
				 uint32_t i)
{
	char name[32];
	snprintf(name, sizeof name, format, i);
	return class == AM_CTP_DATA ? am_ctp_data(b->c, name, 4) : am_ctp_object(b->c, class, name);
}

static inline struct am_ctp *bank_make(enum bank_kind kind, uint32_t tellers, uint32_t work,
				       bool with_main)
{
	struct bank b = { .c = am_ctp_new(), .kind = kind, .tellers = tellers, .work = work };
	b.total = am_ctp_data(b.c, "total", 4);
	b.log = am_ctp_data(b.c, "log", 4);
	b.bank_lock = am_ctp_object(b.c, AM_CTP_LOCK, "bank");
	b.stat_lock = am_ctp_object(b.c, AM_CTP_LOCK, "stat");
	b.log_lock = am_ctp_object(b.c, AM_CTP_LOCK, "log");
	for (uint32_t g = 0; g < 2; g++) {
		b.busy[g] = bank_name(&b, AM_CTP_DATA, "busy%u", g);
		b.owner[g] = bank_name(&b, AM_CTP_DATA, "owner%u", g);
		b.gate[g] = bank_name(&b, AM_CTP_LOCK, "gate%u", g);
		b.open[g] = bank_name(&b, AM_CTP_COND, "open%u", g);
	}
	am_ctp_thread(b.c, "main");
	for (uint32_t i = 0; i < tellers; i++) {
		char name[24];
		snprintf(name, sizeof name, "teller%u", i);
		am_ctp_thread(b.c, name);
		b.account[i] = bank_name(&b, AM_CTP_DATA, "account%u", i);
		b.account_lock[i] = bank_name(&b, AM_CTP_LOCK, "account_lock%u", i);
		b.stat[i] = bank_name(&b, AM_CTP_DATA, "stat%u", i);
	}
	if (with_main)
		bank_main(&b);
	for (uint32_t i = 0; i < tellers; i++)
		bank_teller(&b, i + 1, i);
	return b.c;
}

#endif
