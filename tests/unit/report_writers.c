/* Writers: text, JSON and SARIF over one violation. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report_fixture.h"

static unsigned longest_line(const char *text)
{
	unsigned best = 0, n = 0;

	for (; *text; text++) {
		if (*text == '\n')
			n = 0;
		else
			n += ((unsigned char)*text & 0xc0) != 0x80;
		best = n > best ? n : best;
	}
	return best;
}

Test(text, tells_the_lost_update_step_by_step)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	world_sections(&g.w, g.r, 1, 2);
	const struct am_cycle c = world_lost_update(&g.w, 1, 2);
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	has("Region \"withdraw\" was not atomic: lost update.");
	has("read balance = 100");
	has("write balance = 150");
	has("write balance = -90");
	has("acquire bank_lock");
	has("T1 read balance before T2 wrote it");
	has("Hold bank_lock from step 2 to step 9: the release at step 4");
	has("T1 \"teller-1\", created by T0 at main() bank.c:35");
	has("next      atommon-predict bank.atm");
	cr_expect_leq(longest_line(g.page->text), 100u);
	if (getenv("SHOW"))
		puts(g.page->text);
	rig_free(&g);
}

Test(text, ascii_has_no_byte_above_127_and_no_colour)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){.ascii = true, .width = 72}, NULL, 50);
	world_sections(&g.w, g.r, 1, 2);
	const struct am_cycle c = world_lost_update(&g.w, 1, 2);
	am_reporter_cycle(g.r, &c, NULL, NULL);
	for (const char *p = g.page->text; *p; p++)
		cr_assert(*p == '\n' || (*p >= 0x20 && *p < 0x7f), "byte %d", *p);
	cr_expect_leq(longest_line(g.page->text), 72u);
	if (getenv("SHOW"))
		puts(g.page->text);
	rig_free(&g);
}

Test(text, colour_ends_plain)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){.colour = true}, NULL, 50);
	const struct am_cycle c = world_lost_update(&g.w, 1, 2);
	am_reporter_cycle(g.r, &c, NULL, NULL);
	const char *last = NULL;
	for (const char *p = g.page->text; (p = strchr(p, '\033')); p++)
		last = p;
	cr_assert_not_null(last);
	cr_expect_eq(strncmp(last, "\033[0m", 4), 0);
	if (getenv("SHOW"))
		puts(g.page->text);
	rig_free(&g);
}

Test(text, control_characters_of_the_program_stay_out)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	g.w.string[STR_WITHDRAW] = "with\033[31m\ndraw\xff";
	const struct am_cycle c = world_lost_update(&g.w, 1, 2);
	am_reporter_cycle(g.r, &c, NULL, NULL);
	cr_expect_null(strchr(g.page->text, '\033'));
	has("with?[31m?draw?");
	rig_free(&g);
}

Test(text, many_threads_still_fit)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_TEXT, (struct am_style){0}, NULL, 50);
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	const struct am_edge back = c.edge[1];
	c.n_edges = 12;
	for (uint32_t i = 1; i < 11; i++) {
		c.edge[i].from = c.edge[i - 1].to;
		c.edge[i].to = world_access(&g.w, 15 + i, 2 + i, AM_WRITE, S_OTHER, i);
		c.edge[i].from.object = c.edge[i].to.object += 8 * i; /* no shorter way */
	}
	c.edge[11] = back;
	c.edge[11].from = c.edge[10].to;
	c.edge[11].to.index = c.close_index = 40;
	cr_expect(am_reporter_cycle(g.r, &c, NULL, NULL));
	cr_expect_leq(longest_line(g.page->text), 100u);
	has("T12 write ");
	rig_free(&g);
}

/* ---- machine formats, judged by somebody else's parser ------------------------------------------ */

static void judge(struct rig *g, const char *program)
{
	char path[] = "/tmp/report-XXXXXX", command[1200];
	const int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, g->page->text, g->page->n), (ssize_t)g->page->n);
	close(fd);
	snprintf(command, sizeof command, "python3 - %s <<'END'\n%s\nEND\n", path, program);
	const int status = system(command);
	unlink(path);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", g->page->text);
}

Test(json, is_one_valid_line_per_report)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_JSON, (struct am_style){0}, NULL, 50);
	g.w.string[STR_DEPOSIT] = "de\"po\\sit\n\xff\xc3\xa9";
	world_sections(&g.w, g.r, 1, 2);
	const struct am_cycle c = world_lost_update(&g.w, 1, 2);
	am_reporter_cycle(g.r, &c, NULL, NULL);
	am_reporter_cycle(g.r, &c, NULL, NULL);
	am_reporter_finish(g.r);
	judge(&g, "import json,sys\n"
		  "lines=[json.loads(l) for l in open(sys.argv[1], encoding='utf-8')]\n"
		  "v,again=lines\n"
		  "assert v['schema']=='atommon-report/1' and v['type']=='violation'\n"
		  "assert v['region']['name']=='withdraw' and v['pattern']=='lost update'\n"
		  "assert [s['number'] for s in v['steps']]==list(range(1,len(v['steps'])+1))\n"
		  "assert {e['from'] for e in v['edges']}|{e['to'] for e in v['edges']}=="
		  "{s['number'] for s in v['steps'] if s['in_cycle']}\n"
		  "assert v['steps'][5]['region']=='de\"po\\\\sit\\n\\ufffd\\u00e9', v['steps'][5]\n"
		  "assert v['objects'][0]['name']=='balance'\n"
		  "assert again['type']=='repeats' and again['count']==2 and again['id']==v['id']");
	rig_free(&g);
}

Test(sarif, has_a_flow_per_thread_and_the_fingerprint)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_SARIF, (struct am_style){0}, NULL, 50);
	world_sections(&g.w, g.r, 1, 2);
	struct am_cycle c = world_lost_update(&g.w, 1, 2);
	am_reporter_cycle(g.r, &c, NULL, NULL);
	c.region = STR_TOTAL;
	am_reporter_cycle(g.r, &c, NULL, NULL);
	am_reporter_finish(g.r);
	judge(&g, "import json,sys\n"
		  "d=json.load(open(sys.argv[1]))\n"
		  "assert d['version']=='2.1.0'\n"
		  "run,=d['runs']\n"
		  "assert len(run['results'])==2\n"
		  "rules=run['tool']['driver']['rules']\n"
		  "for r in run['results']:\n"
		  "  assert rules[r['ruleIndex']]['id']==r['ruleId']\n"
		  "  assert r['partialFingerprints']['atommonViolation/v1'].startswith('AV-')\n"
		  "  flow,=r['codeFlows']\n"
		  "  assert len(flow['threadFlows'])==2\n"
		  "  order=sorted(l['executionOrder'] for t in flow['threadFlows'] for l in t['locations'])\n"
		  "  assert order==list(range(1,len(order)+1))\n"
		  "  at=r['locations'][0]['physicalLocation']\n"
		  "  assert at['artifactLocation']['uri']=='file:///src/bank.c' and at['region']['startLine']==31\n"
		  "assert run['invocations'][0]['executionSuccessful']");
	rig_free(&g);
}

Test(sarif, without_results_is_still_a_document)
{
	struct rig g = rig_new(0x400000);
	rig_start(&g, AM_REPORT_SARIF, (struct am_style){0}, NULL, 50);
	am_reporter_finish(g.r);
	judge(&g, "import json,sys\nassert json.load(open(sys.argv[1]))['runs'][0]['results']==[]");
	rig_free(&g);
}
