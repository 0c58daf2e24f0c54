/* SPDX-License-Identifier: MIT */
/*
 * Numbers that hook_mutex_hot.S and ask_hot.S share with C: offsets and constants, each asserted in hook_mutex.c or ask.c.
 * Read by the assembler too: only #define.
 */
#ifndef ATOMMON_PRELOAD_HOT_H
#define ATOMMON_PRELOAD_HOT_H

/* struct am_tls */
#define HOT_T_BASE 0
#define HOT_T_HEAD 8
#define HOT_T_LIMIT 16
#define HOT_T_PHASE 32
#define HOT_T_EVENT 40
#define HOT_T_LANE 48

/* struct am_site_cached; offset of an entry: these bits of the key, times the scale */
#define HOT_SITE_MASK 0x7f0
#define HOT_SITE_SCALE 4
#define HOT_S_SLOT 8
#define HOT_S_CALLERS 32
#define HOT_S_SITE 56

/* struct am_pc_cached, from HOT_PC on; offset of an entry: these bits of the hash */
#define HOT_PC_MASK 0x7f0
#define HOT_PC 8192
#define HOT_P_SITE 8

/* struct am_own, of 64 bytes; offset of the own counter by bits 18.. of the hash */
#define HOT_OWN_SHIFT 12
#define HOT_OWN_MASK 0xfffc0
#define HOT_O_NEXT 8

#define HOT_UNIT_SHIFT 4
#define HOT_HASH 0x9e3779b1	 /* of own counters */
#define HOT_SITE_HASH 0x61c88647 /* of call sites */
#define HOT_AHEAD 512

/* w0 of a record without phase and object */
#define HOT_W0_ACQUIRE 0x8085
#define HOT_W0_RELEASE 0x8086
#define HOT_OBJECT_SHIFT 16

#define HOT_ON 3
#define HOT_DEFER 4
#define HOT_KIND 16	 /* of pthread_mutex_t */
#define HOT_UNUSUAL 0x33 /* in there: neither of the plain type, or robust, or of a protocol */
#define HOT_REAL_LOCK 16
#define HOT_REAL_UNLOCK 48

/* cells and what an access looks at: filter.h, fast.h */
#define HOT_V_FAST 0
#define HOT_V_IDLE 8
#define HOT_V_STRETCH 16
#define HOT_V_PLACES 24
#define HOT_V_WHOLE 56
#define HOT_V_PAST 151
#define HOT_ONLY 8
#define HOT_GIANT 28
#define HOT_GIANTS 0x80000
#define HOT_CHUNK 12
#define HOT_BYTES 0xff
#define HOT_MORE 0xff00
#define HOT_STAYS 0x190000
#define HOT_EXACT 0x10000
#define HOT_EVER 0x10000
#define HOT_LAZY 0x20000
#define HOT_LENT 0x40000
#define HOT_STRETCH -0x200000
#define HOT_NEWEST -0x1c0000 /* the same, and lent */
#define HOT_BLOCK 48
#define HOT_KNOWN8 -0x1fff01 /* and bytes */
#define HOT_NEWEST8 -0x1bff01
#define HOT_PLACES_MASK 0x3ff0
#define HOT_L_OVER 11824 /* of struct am_lane */

#endif
