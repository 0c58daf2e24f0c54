/* SPDX-License-Identifier: MIT */
/*
 * The trace file `.atm`, version 1: a header, then chunks, each with its own checksum. Described in
 * full in doc/trace-format.md. Append-only: a file cut at any byte is readable up to its last whole
 * chunk, and every chunk can be interpreted with what stands before it.
 *
 * The functions below fill a caller's buffer and do nothing else: no I/O, no memory, no stdio. The
 * drain thread and the tools write with them. Little endian.
 *
 * Duties of a writer. Units of one thread appear in order and without gaps of position; ids are
 * defined by a table chunk before the first unit that uses them; and no unit stays unwritten while
 * more than AM_ATM_WINDOW units of other threads are written (flush threads that are slow), since
 * that bounds the memory of every reader.
 */
#ifndef ATOMMON_TRACE_H
#define ATOMMON_TRACE_H

#include "event.h"
#include "tables.h"

#include <stddef.h>

#define AM_ATM_MAGIC                                                                               \
	"\x89"                                                                                     \
	"ATM\r\n\x1a\n"
#define AM_ATM_CHUNK_MAGIC UINT32_C(0x434d5441) /* "ATMC" */

enum {
	AM_ATM_VERSION = 1,
	AM_ATM_ENDIAN = 0x01020304,
	AM_ATM_UNITS_MAX = 4096,	       /* units in a chunk */
	AM_ATM_RAW_MAX = 1024 * 1024,	       /* bytes of a chunk before compression */
	AM_ATM_WINDOW = 1024 * 1024,	       /* units, see above */
	AM_ATM_THREADS_MAX = 16 * 1024 * 1024, /* thread ids are smaller */
};

/* Features. A reader refuses a file with a bit of the low half that it does not know. */
#define AM_ATM_F_ORDERED UINT64_C(1)	      /* has AM_ATM_ORDERED chunks, and no AM_ATM_UNITS */
#define AM_ATM_F_OWN UINT64_C(2)	      /* may have numbers of own counters (AM_R_OWN) */
#define AM_ATM_F_ACCESSES (UINT64_C(1) << 32) /* the program showed its memory accesses */
#define AM_ATM_F_SYMBOLIC (UINT64_C(1) << 33) /* ... with values and expressions */
#define AM_ATM_F_KNOWN_LOW (AM_ATM_F_ORDERED | AM_ATM_F_OWN)

struct am_atm_header {
	char magic[8];
	uint32_t version;
	uint32_t endian;
	uint64_t features;
	uint64_t start_ns; /* start of the recording, by `clock` */
	uint32_t clock;	   /* clockid of start_ns and of clock events: 0 is CLOCK_REALTIME */
	uint32_t pid;
	uint32_t slot_bits;  /* AM_SLOT_BITS */
	uint32_t unit_bytes; /* sizeof(struct am_unit) */
	uint32_t reserved[3];
	uint32_t checksum; /* XXH32, seed 0, of the 60 bytes before */
};
_Static_assert(sizeof(struct am_atm_header) == 64, "header");

enum am_atm_chunk_type {
	AM_ATM_UNITS = 1, /* units of one thread, to be merged */
	AM_ATM_TABLE,	  /* strings, sites, modules, threads, command line */
	AM_ATM_ORDERED,	  /* units of several threads, already in merged order */
	AM_ATM_FOOTER,	  /* the recording ended regularly; struct am_atm_footer */
};

enum am_atm_coding { AM_ATM_STORED = 0, AM_ATM_LZ4 = 1 };

struct am_atm_chunk {
	uint32_t magic;
	uint8_t type;
	uint8_t coding;
	uint16_t reserved;
	uint32_t bytes;	    /* of the payload as stored */
	uint32_t raw_bytes; /* of the payload before compression */
	uint32_t thread;    /* units: thread id; others 0 */
	uint32_t count;	    /* units; table entries */
	uint64_t position;  /* units: of the first unit within its thread; ordered: of all units */
	uint32_t reserved2;
	uint32_t checksum; /* XXH32 of the payload, seeded with XXH32 (seed 0) of the 36 bytes
			      before */
};
_Static_assert(sizeof(struct am_atm_chunk) == 40, "chunk header");

/* Table entries: tag byte, length of the body (varint), body. doc/trace-format.md has the bodies.
 */
enum am_atm_tag {
	AM_ATM_T_COMMAND = 1,
	AM_ATM_T_STRING,
	AM_ATM_T_MODULE,
	AM_ATM_T_SITE,
	AM_ATM_T_THREAD,
	AM_ATM_T_LEAVING, /* no table: where the last look at the rings of a process that ends begins */
};

struct am_atm_footer {
	uint64_t units;	  /* of all threads */
	uint64_t records; /* events */
	uint64_t lost[8]; /* events dropped, by enum am_lost */
	uint64_t end_ns;  /* by the clock of the header */
};

struct am_atm_info {
	uint64_t features, start_ns;
	uint32_t clock, pid;
};

size_t am_atm_put_header(uint8_t buf[sizeof(struct am_atm_header)], const struct am_atm_info *info);

/* ---- tables: begin, any number of entries, end ---------------------------------------------- */

struct am_atm_table {
	uint8_t *buf;
	size_t cap, len;
	uint32_t count;
};

/* cap: at least 4096, at most AM_ATM_RAW_MAX. */
void am_atm_table_begin(struct am_atm_table *t, uint8_t *buf, size_t cap);
/* Each false: no room left, nothing was added; end this chunk and begin another. An entry that
 * would not fit into an empty chunk has its text cut. Later entries replace earlier ones of an id.
 */
bool am_atm_table_command(struct am_atm_table *t, const char *text, size_t len);
bool am_atm_table_string(struct am_atm_table *t, uint32_t id, const char *text, size_t len);
bool am_atm_table_module(struct am_atm_table *t, uint32_t index, const struct am_module *module);
bool am_atm_table_site(struct am_atm_table *t, uint32_t id, const uint64_t *frames, uint32_t n);
bool am_atm_table_thread(struct am_atm_table *t, const struct am_thread *thread);
/* Units behind this (false: no longer, the process lives on) were logged while the rings were read for the last
 * time, one after the other: what they rest on may be missing. See am_merge_leaving. */
bool am_atm_table_leaving(struct am_atm_table *t, bool is_leaving);
/* Bytes of the whole chunk, to be written from t->buf; 0 if it has no entry. */
size_t am_atm_table_end(struct am_atm_table *t);

/* ---- units ---------------------------------------------------------------------------------- */

struct am_chunk_coder; /* scratch memory of the encoder: am_chunk_coder_bytes() bytes, 16-aligned */
size_t am_chunk_coder_bytes(void);

/* Enough for any chunk of up to AM_ATM_UNITS_MAX units. */
enum { AM_ATM_UNITS_BYTES_MAX = 160 * 1024 };

/*
 * One chunk from n <= AM_ATM_UNITS_MAX units of a thread, whole records; returns its bytes. buf has
 * room for AM_ATM_UNITS_BYTES_MAX. The phase bits need not be cleared. The coder needs no
 * initialisation.
 */
size_t am_atm_put_units(struct am_chunk_coder *coder, uint8_t *buf, uint32_t thread,
			uint64_t position, const struct am_unit *units, size_t n);

/* The same for units in merged order: thread[i] is the thread of unit i. */
size_t am_atm_put_ordered(struct am_chunk_coder *coder, uint8_t *buf, uint64_t position,
			  const struct am_unit *units, const uint32_t *thread, size_t n);

/* buf has room for sizeof(struct am_atm_chunk) + sizeof(struct am_atm_footer). */
size_t am_atm_put_footer(uint8_t *buf, const struct am_atm_footer *footer);

#endif
