/* SPDX-License-Identifier: MIT */
/*
 * Dropping a reference that is not the last. Threads share an object by a count in it. Who takes one off, and only asks whether it was the last, may do
 * that as well a little before or behind what others add and take off, as long as it is not the last: such a subtraction commutes like
 * one whose result nobody uses (AM_ORDER_ADDS in event.h). Not so if an owner lives on borrowed references: one that gave an object away
 * and took no reference for that would have freed it, if it had dropped its own before others took theirs.
 *
 * What tells the two apart is what the thread itself left in the count when it last added to it: if these were two or more, its own was never the
 * only one, whatever others did since. Where that is not known there must be three before it drops one, so that two are left: one that
 * a single other thread took since is not enough. That a count is judged so costs a false alarm at most where it was one before.
 *
 * Each thread remembers a few counts, by address. Memory that was freed meanwhile by another thread, and has a count again at the same
 * place, may so be judged by the old one; then a mistake in its use may be missed. Runs in application threads; no lock, no system call, no malloc.
 */
#ifndef ATOMMON_PRELOAD_OWNERS_H
#define ATOMMON_PRELOAD_OWNERS_H

#include "preload/lane.h"

/* The thread added `delta`, and left so many. */
void am_owners_left(uintptr_t count, int64_t delta, int64_t left);
/* It took one off and found `old`: were others left, whatever came before what? */
bool am_owners_remain(uintptr_t count, int64_t old);

#endif
