/* Offline names: see offline.h. Runs in tools. */
/* SPDX-License-Identifier: MIT */
#include "offline.h"

#include "analyzer/trace/symbols.h"

enum { MAX_INLINED = 16 };

static const char *known(const char *text)
{
	return text ? text : "";
}

static unsigned code(void *ctx, const struct am_module *module, uint64_t offset, struct am_vframe *frames,
		     unsigned max)
{
	const struct am_tables one = {.module = module, .n_modules = 1};
	struct am_frame found[MAX_INLINED];
	const size_t n = am_symbols_frames(ctx, &one, module->base + offset, false, found,
					   max < MAX_INLINED ? max : MAX_INLINED);

	if (n == 1 && !found[0].function && !found[0].file)
		return 0;
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct am_vframe){.function = known(found[i].function),
					       .file = known(found[i].file), .line = found[i].line};
	return (unsigned)n;
}

static bool data(void *ctx, const struct am_module *module, uint64_t offset, struct am_symbol *symbol)
{
	const struct am_tables one = {.module = module, .n_modules = 1};
	struct am_variable v;

	if (!am_symbols_variable(ctx, &one, module->base + offset, &v))
		return false;
	*symbol = (struct am_symbol){v.name, v.start - module->base, v.size, v.part};
	return true;
}

struct am_symbolizer am_offline_symbolizer(struct am_symbols *symbols)
{
	return (struct am_symbolizer){.ctx = symbols, .code = code, .data = data};
}
