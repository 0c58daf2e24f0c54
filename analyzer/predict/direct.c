#include "analyzer/predict/engine_priv.h"
void am_direct_ask(struct am_engine *engine, const struct am_query *query, struct am_answer *answer)
{ (void)engine;(void)query; answer->verdict=AM_UNDECIDED; }
