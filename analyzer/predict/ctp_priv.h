/* SPDX-License-Identifier: MIT */
/* What the files of the trace program share with each other and nobody else. */
#ifndef ATOMMON_PREDICT_CTP_PRIV_H
#define ATOMMON_PREDICT_CTP_PRIV_H

#include "analyzer/predict/ctp.h"
#include "analyzer/predict/grow.h"

struct am_ctp_private {
	uint32_t node_room, event_room, object_room, thread_room, region_room, order_room, loc_room;
	uint32_t *hash; /* open addressing, node numbers */
	uint32_t hash_size;
	uint64_t *memo; /* of am_ctp_eval, by node */
	uint32_t *stamp;
	uint32_t memo_room, stamp_room, generation;
};

uint32_t am_ctp_leaf(struct am_ctp *ctp, uint32_t event, unsigned width);

#endif
