/* One access of every kind that a compiler reports, each to a variable of its own. */
/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct packed {
	char pad;
	uint16_t two;
	uint32_t four;
	uint64_t eight;
} __attribute__((packed, aligned(16)));

struct packed16 {
	char pad;
	__int128 sixteen;
} __attribute__((packed, aligned(16)));

uint8_t r1, w1, u1;
uint16_t r2, w2, u2;
uint32_t r4, w4, u4;
uint64_t r8, w8, u8;
__int128 r16, w16;
volatile uint32_t vr4, vw4;
volatile uint8_t vr1, vw1;
volatile uint16_t vr2, vw2;
volatile uint64_t vr8, vw8, vu8;
struct packed pr, pw, pu;
struct packed16 pr16, pw16;
struct big {
	char bytes[100];
} copy_from, copy_to;
char set_to[64], move_from[64], move_to[64], cpy_from[64], cpy_to[64];
_Atomic uint8_t al1, as1, aa1;
_Atomic uint16_t al2, as2, aa2;
_Atomic uint32_t al4, as4, aa4, ax4, ac4, ao4, af4, ae4;
_Atomic uint32_t an4 = 6; /* that changes: an update that leaves all as it was is a failed attempt */
uint32_t ana4; /* nand has no C11 name */
_Atomic uint64_t al8, as8, aa8;
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
__int128 al16, as16, aa16, ax16, ac16;
#endif
_Thread_local uint64_t tl8;
uint64_t sink;
size_t length = 64;

NOINLINE void reads(void)
{
	sink += r1;
	sink += r2;
	sink += r4;
	sink += r8;
	sink += (uint64_t)(r16 >> 3);
	sink += vr4;
	sink += pr.two;
	sink += pr.four;
	sink += pr.eight;
	sink += vr1;
	sink += vr2;
	sink += vr8;
	sink += (uint64_t)(pr16.sixteen >> 3);
}

NOINLINE void writes(uint64_t v)
{
	w1 = (uint8_t)v;
	w2 = (uint16_t)v;
	w4 = (uint32_t)v;
	w8 = v;
	w16 = v;
	vw4 = (uint32_t)v;
	pw.two = (uint16_t)v;
	pw.four = (uint32_t)v;
	pw.eight = v;
	vw1 = (uint8_t)v;
	vw2 = (uint16_t)v;
	vw8 = v;
	pw16.sixteen = v;
	tl8 = v;
}

NOINLINE void updates(uint64_t v)
{
	u1 += (uint8_t)v;
	u2 += (uint16_t)v;
	u4 += (uint32_t)v;
	u8 += v;
	vu8 = vu8 + v;
	pu.two = (uint16_t)(pu.two + v);
	pu.four += (uint32_t)v;
	pu.eight += v;
}

NOINLINE void blocks(int c)
{
	copy_to = copy_from;
	memset(set_to, c, length);
	memmove(move_to, move_from, length);
	memcpy(cpy_to, cpy_from, length);
}

NOINLINE void atomics(uint32_t v)
{
	uint32_t expected = 0;

	sink += atomic_load_explicit(&al1, memory_order_relaxed) + atomic_load(&al2);
	sink += atomic_load_explicit(&al4, memory_order_acquire) + atomic_load(&al8);
	atomic_store_explicit(&as1, (uint8_t)v, memory_order_relaxed);
	atomic_store_explicit(&as2, (uint16_t)v, memory_order_release);
	atomic_store(&as4, v);
	atomic_store(&as8, v);
	atomic_fetch_add(&aa1, 1);
	atomic_fetch_sub(&aa2, 1);
	atomic_fetch_add_explicit(&aa4, v, memory_order_relaxed);
	atomic_fetch_add(&aa8, v);
	sink += atomic_exchange(&ax4, v);
	sink += atomic_compare_exchange_strong(&ac4, &expected, v);
	atomic_fetch_and(&an4, v);
	atomic_fetch_or(&ao4, v);
	atomic_fetch_xor(&ae4, v);
	__atomic_fetch_nand(&ana4, v, __ATOMIC_ACQ_REL);
	expected = 77;
	sink += atomic_compare_exchange_weak(&af4, &expected, v);
	atomic_thread_fence(memory_order_seq_cst);
	atomic_signal_fence(memory_order_seq_cst);
}

/* 128 bits: done by the callback, in one step where the machine can. */
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
NOINLINE void wide(uint32_t v)
{
	__int128 expected = 0;

	sink += (uint64_t)__atomic_load_n(&al16, __ATOMIC_ACQUIRE);
	__atomic_store_n(&as16, ((__int128)v << 64) + v, __ATOMIC_RELEASE);
	sink += (uint64_t)__atomic_fetch_add(&aa16, ((__int128)v << 64) + v, __ATOMIC_SEQ_CST);
	sink += (uint64_t)__atomic_exchange_n(&ax16, (__int128)v << 64, __ATOMIC_ACQ_REL);
	sink += __atomic_compare_exchange_n(&ac16, &expected, (__int128)v << 64, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
}
#endif

int main(int argc, char **argv)
{
	(void)argv;
	reads();
	writes((uint64_t)argc);
	updates((uint64_t)argc);
	blocks(argc);
	atomics((uint32_t)argc);
	printf("%d %d %d %d %d %d %d %d %d\n", w1, u8 == 1, set_to[63], (int)aa1, aa2 == 65535, (int)ax4,
	       (int)ac4, (int)af4, (int)pw.eight);
	printf("%u %u %d %d %d\n", ae4, ana4, (int)vu8, (int)pu.eight, (int)tl8);
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
	wide((uint32_t)argc);
	printf("%d %d %d %d %d\n", (int)(as16 >> 64), (int)as16, (int)(aa16 >> 64), (int)(ax16 >> 64),
	       (int)(ac16 >> 64));
#endif
	return 0;
}
