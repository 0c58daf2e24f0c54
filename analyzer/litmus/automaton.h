/* SPDX-License-Identifier: MIT */
/*
 * The serializability automaton of Farzan and Madhusudan (section 4): the summarised conflict graph of
 * section 3.1 as a plain array of words, so that it can be part of a state, copied and compared.
 *
 * Per thread: is it in a transaction; edges to other transactions; S: cells read and written so far; C:
 * what completed transactions behind it read and wrote, and whose they were. At most 64 threads and 64
 * cells. A cycle is noticed at the access that closes it.
 */
#ifndef ATOMMON_LITMUS_AUTOMATON_H
#define ATOMMON_LITMUS_AUTOMATON_H

#include <stdbool.h>
#include <stdint.h>

enum am_ser_word {
	AM_SER_ACTIVE,
	AM_SER_EDGES,
	AM_SER_S_READ,
	AM_SER_S_WRITE,
	AM_SER_C_THREADS,
	AM_SER_C_READ,
	AM_SER_C_WRITE,
	AM_SER_WORDS,
};

struct am_ser {
	uint32_t threads;
	uint64_t *words; /* threads * AM_SER_WORDS; zero: nothing happened yet */
};

void am_ser_begin(struct am_ser *ser, uint32_t thread);	 /* rule 1 */
void am_ser_end(struct am_ser *ser, uint32_t thread);	 /* rule 2 */
/* Rule 3, inside a transaction. False: the access closes a cycle. */
bool am_ser_access(struct am_ser *ser, uint32_t thread, uint32_t cell, bool reads, bool writes);
void am_ser_thread_end(struct am_ser *ser, uint32_t thread); /* rule 5 */

#endif
