/*
 * Payloads of chunks: compression (LZ4 block format) and checksums (XXH32). Runs in the drain
 * thread and in tools; LZ4 works in the caller's memory, nothing is allocated. The only file that
 * knows these two libraries.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/chunk.h"

#include <assert.h>
#include <string.h>

#include <lz4.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(LZ4_stream_t) <= sizeof((struct am_chunk_coder *)0)->lz4, "state of LZ4");
_Static_assert(LZ4_COMPRESSBOUND(CHUNK_SCRATCH) + sizeof(struct am_atm_chunk) <=
		       AM_ATM_UNITS_BYTES_MAX,
	       "room for a chunk");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little endian");

size_t am_atm_put_header(uint8_t buf[sizeof(struct am_atm_header)], const struct am_atm_info *info)
{
	struct am_atm_header h = {
		.version = AM_ATM_VERSION,
		.endian = AM_ATM_ENDIAN,
		.features = info->features,
		.start_ns = info->start_ns,
		.clock = info->clock,
		.pid = info->pid,
		.slot_bits = AM_SLOT_BITS,
		.unit_bytes = sizeof(struct am_unit),
	};
	memcpy(h.magic, AM_ATM_MAGIC, sizeof h.magic);
	h.checksum = am_atm_header_checksum(&h);
	memcpy(buf, &h, sizeof h);
	return sizeof h;
}

uint32_t am_atm_header_checksum(const struct am_atm_header *h)
{
	return XXH32(h, offsetof(struct am_atm_header, checksum), 0);
}

uint32_t am_chunk_checksum(const struct am_atm_chunk *header, const uint8_t *payload)
{
	const uint32_t seed = XXH32(header, offsetof(struct am_atm_chunk, checksum), 0);
	return XXH32(payload, header->bytes, seed);
}

bool am_chunk_expand(const struct am_atm_chunk *h, const uint8_t *payload, uint8_t *raw)
{
	assert(h->raw_bytes <= AM_ATM_RAW_MAX);
	if (h->coding == AM_ATM_STORED) {
		if (h->bytes != h->raw_bytes)
			return false;
		memcpy(raw, payload, h->bytes);
		return true;
	}
	return h->coding == AM_ATM_LZ4 && h->bytes <= INT32_MAX &&
	       LZ4_decompress_safe((const char *)payload, (char *)raw, (int)h->bytes,
				   (int)h->raw_bytes) == (int)h->raw_bytes;
}

size_t am_chunk_seal(uint8_t *lz4, uint8_t *buf, struct am_atm_chunk h, const uint8_t *raw)
{
	uint8_t *payload = buf + sizeof h;
	int packed = 0;

	h.magic = AM_ATM_CHUNK_MAGIC;
	if (lz4)
		packed = LZ4_compress_fast_extState(lz4, (const char *)raw, (char *)payload,
						    (int)h.raw_bytes,
						    LZ4_COMPRESSBOUND((int)h.raw_bytes), 1);
	if (packed > 0 && (uint32_t)packed < h.raw_bytes) {
		h.coding = AM_ATM_LZ4;
		h.bytes = (uint32_t)packed;
	} else {
		h.coding = AM_ATM_STORED;
		h.bytes = h.raw_bytes;
		if (payload != raw)
			memcpy(payload, raw, h.bytes);
	}
	h.checksum = am_chunk_checksum(&h, payload);
	memcpy(buf, &h, sizeof h);
	return sizeof h + h.bytes;
}
