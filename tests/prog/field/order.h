/*
 * The scheduler of the programs here: a few threads, and which goes first. It speaks through pipes, which
 * neither a recorder nor a checker sees, so that the order it forces is one of many as far as they know.
 *   good       each thread runs to its end, then the next
 *   bad        the first thread stops at its first POINT until the others have ended
 *   free [N]   as it comes, each body N times
 * Compiled by a plain compiler (order.c).
 */
/* SPDX-License-Identifier: MIT */
#ifndef FIELD_ORDER_H
#define FIELD_ORDER_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void order_body(void);

/* Runs the bodies, each in a thread, in the order that argv[1] names. */
void order_run(int argc, char **argv, order_body *first, order_body *second);
void order_run3(int argc, char **argv, order_body *first, order_body *second, order_body *third);
void order_point(void);
/* One turn of a thread that waits: in the bad order, three of them let the first thread go on. */
void order_spin(void);

#ifdef __cplusplus
}
#endif

/* Where the mistake can strike. In the right program a lock is held here. */
#ifdef FIXED
#define POINT() ((void)0)
#define WHEN_WRONG(statement)
#define WHEN_FIXED(statement) statement
#else
#define POINT() order_point()
#define WHEN_WRONG(statement) statement
#define WHEN_FIXED(statement)
#endif
#define NOINLINE __attribute__((noinline))

#endif
