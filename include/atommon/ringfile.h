/* SPDX-License-Identifier: MIT */
/*
 * The ring file `<trace>.ring`: what a process has logged and the drain thread has not yet put into
 * the trace. It is mapped by the process and deleted when it ends by itself; after a kill the reader
 * finds here the rest of every thread's records, and all tables. Little endian, x86-64.
 *
 *   offset 0       struct am_ringfile, AM_RINGFILE_HEADER bytes
 *   table offsets  six tables, each an array of `capacity` entries of `entry_bytes`
 *   ring offsets   units of the rings, named by the ring directory
 *
 * The file grows while the process runs; a ring whose units lie outside the file, or whose offset is
 * 0, lived in memory only and is lost.
 *
 * Reading a dead process's rings. For each directory entry in use: ring index i counts units from 0
 * on and never wraps (64 bits); unit i lies at units[i & (n_units - 1)], and is valid for index i
 * exactly when its phase bit (AM_R_PHASE of w0) is set iff (i & n_units) == 0. What is not yet in
 * the trace starts at ring index `tail`; it ends before the first unit of the wrong phase, or at
 * tail + n_units. A record (first unit and its extension units) counts when all its units are valid;
 * the first incomplete one was in progress when the process died. A signal handler may have
 * completed records behind it: they carry AM_R_NESTED.
 *
 * Position of a unit within its thread: i - first + base. Chunks of the trace carry the position of
 * their first unit, so that a reader drops from the ring what the trace already holds: the process
 * may have died after a chunk was written and before `tail` moved.
 */
#ifndef ATOMMON_RINGFILE_H
#define ATOMMON_RINGFILE_H

#include <stdint.h>

#include "tables.h"

#define AM_RINGFILE_MAGIC "AMRING\r\n"
enum {
	AM_RINGFILE_VERSION = 1,
	AM_RINGFILE_HEADER = 8192,
	AM_RINGFILE_ENDIAN = 0x01020304,
	AM_RING_UNITS_MIN = 256,       /* 4 KiB */
	AM_RING_UNITS_MAX = 256 * 1024 /* 4 MiB */
};

/* Entries are handed out by an atomic add on `count`, which may so run past `capacity`: entries in
 * use are the first min(count, capacity). Each entry says by itself whether it is complete. */
struct am_ringtable {
	uint64_t offset;
	uint32_t capacity;
	uint32_t entry_bytes;
	uint32_t count;
	uint32_t reserved;
};

struct am_ringfile {
	char magic[8];
	uint32_t version;
	uint32_t endian;
	uint32_t pid;
	uint32_t state;	    /* 1: live or killed; 2: all rings were drained at the end */
	uint64_t start_ns;  /* wall clock at start, ns since the epoch */
	uint64_t file_bytes; /* allocated so far */
	struct am_ringtable rings;   /* struct am_ringdir */
	struct am_ringtable threads; /* struct am_ringthread, index = thread id */
	struct am_ringtable modules; /* struct am_ringmodule */
	struct am_ringtable sites;   /* uint64_t: number of frames, then the frames; index = site id */
	struct am_ringtable strings; /* struct am_ringstring, index = string id */
	struct am_ringtable bytes;   /* characters of the strings, each followed by a NUL */
	uint64_t lost[8]; /* events dropped in the whole run, by enum am_lost */
	char trace[512];     /* path of the trace this belongs to */
	char command[1024];  /* command line, words separated by blanks */
};
_Static_assert(sizeof(struct am_ringfile) <= AM_RINGFILE_HEADER, "header");

enum am_ringdir_state {
	AM_RING_FREE = 0,    /* may be given to a thread */
	AM_RING_SETUP = 1,   /* being given; fields not valid yet */
	AM_RING_LIVE = 2,    /* a thread writes here */
	AM_RING_CLOSING = 3, /* its thread ended; being drained */
};

/* One ring. `tail` is written by the consumer, on a cache line of its own. */
struct am_ringdir {
	uint64_t offset;  /* of the units in the file; 0: not in the file */
	uint64_t first;	  /* ring index at which this thread began to use the ring */
	uint64_t base;	  /* position, within the thread, of the unit at `first` */
	uint32_t n_units; /* capacity, a power of two; 0: no ring was ever here */
	uint32_t thread;  /* thread id */
	uint32_t state;	  /* enum am_ringdir_state */
	uint32_t reserved[7];
	uint64_t tail; /* ring index of the first unit not yet in the trace */
	uint64_t reserved2[7];
};
_Static_assert(sizeof(struct am_ringdir) == 128, "ring directory entry");

struct am_ringthread {
	uint32_t state; /* 0: entry not in use; 1: known; 2: has ended */
	uint32_t parent; /* UINT32_MAX: none or unknown */
	uint32_t os_tid;
	uint32_t create_site;
	char name[16];
};

struct am_ringmodule {
	uint64_t base, start, end; /* as in struct am_module */
	uint8_t build_id[AM_BUILD_ID_MAX];
	uint32_t build_id_len;
	uint32_t state; /* 0: entry not complete; 1: loaded; 2: unloaded */
	char path[256];
};

/* `length` is written last, plus one: 0 means that the entry is not complete. */
struct am_ringstring {
	uint32_t offset; /* into `bytes` */
	uint32_t length_plus_1;
};

#endif
