// The one file that includes the solver's header: cvc5 behind the C interface of smt.h. Tool side.
// No exception leaves this file; a failed call is remembered and makes later checks unknown.
// SPDX-License-Identifier: MIT
#include "analyzer/predict/smt.h"

#include <cvc5/cvc5.h>

#include <string>
#include <unordered_map>
#include <vector>

using cvc5::Kind;
using cvc5::Term;

struct am_smt {
	cvc5::Solver solver;
	std::vector<Term> terms;	  // [0] unused, [1] true
	std::vector<Term> negations;	  // same index, made on demand
	std::vector<int32_t> declared;	  // variables, in order
	std::vector<Term> assertions;	  // now in force
	std::vector<size_t> levels;	  // assertions at each push
	std::vector<int32_t> assumptions; // of the last check
	std::string error, logic;
	am_smt_stats stats{};
	uint64_t units_limit = 0;

	int32_t add(const Term &t)
	{
		terms.push_back(t);
		negations.emplace_back();
		return static_cast<int32_t>(terms.size() - 1);
	}

	Term lit(int32_t l)
	{
		if (l > 0)
			return terms.at(l);
		Term &n = negations.at(-l);
		if (n.isNull())
			n = solver.mkTerm(Kind::NOT, {terms.at(-l)});
		return n;
	}
};

namespace {

// Runs f; an exception becomes the remembered error and the fallback value.
template <class F, class R> R guarded(am_smt *smt, R fallback, F f)
{
	try {
		return f();
	} catch (const std::exception &e) {
		if (smt->error.empty())
			smt->error = e.what();
	} catch (...) {
		if (smt->error.empty())
			smt->error = "unknown failure";
	}
	return fallback;
}

int32_t variable(am_smt *smt, const cvc5::Sort &sort, const char *name)
{
	std::string full = name && *name ? name : "v";
	full += "_" + std::to_string(smt->terms.size());
	const int32_t t = smt->add(smt->solver.mkConst(sort, full));
	smt->declared.push_back(t);
	smt->stats.variables++;
	return t;
}

Term as_bits(am_smt *smt, int32_t l)
{
	Term t = smt->lit(l);
	if (!t.getSort().isBoolean())
		return t;
	return smt->solver.mkTerm(Kind::ITE, {t, smt->solver.mkBitVector(1, 1),
					      smt->solver.mkBitVector(1, 0)});
}

Term as_bool(am_smt *smt, int32_t l)
{
	Term t = smt->lit(l);
	if (t.getSort().isBoolean())
		return t;
	return smt->solver.mkTerm(Kind::EQUAL,
				  {t, smt->solver.mkBitVector(t.getSort().getBitVectorSize(), 1)});
}

Kind kind_of(am_op op)
{
	switch (op) {
	case AM_OP_ADD: return Kind::BITVECTOR_ADD;
	case AM_OP_SUB: return Kind::BITVECTOR_SUB;
	case AM_OP_MUL: return Kind::BITVECTOR_MULT;
	case AM_OP_UDIV: return Kind::BITVECTOR_UDIV;
	case AM_OP_SDIV: return Kind::BITVECTOR_SDIV;
	case AM_OP_UREM: return Kind::BITVECTOR_UREM;
	case AM_OP_SREM: return Kind::BITVECTOR_SREM;
	case AM_OP_AND: return Kind::BITVECTOR_AND;
	case AM_OP_OR: return Kind::BITVECTOR_OR;
	case AM_OP_XOR: return Kind::BITVECTOR_XOR;
	case AM_OP_SHL: return Kind::BITVECTOR_SHL;
	case AM_OP_LSHR: return Kind::BITVECTOR_LSHR;
	case AM_OP_ASHR: return Kind::BITVECTOR_ASHR;
	case AM_OP_ULT: return Kind::BITVECTOR_ULT;
	case AM_OP_ULE: return Kind::BITVECTOR_ULE;
	case AM_OP_SLT: return Kind::BITVECTOR_SLT;
	case AM_OP_SLE: return Kind::BITVECTOR_SLE;
	case AM_OP_UGT: return Kind::BITVECTOR_UGT;
	case AM_OP_UGE: return Kind::BITVECTOR_UGE;
	case AM_OP_SGT: return Kind::BITVECTOR_SGT;
	case AM_OP_SGE: return Kind::BITVECTOR_SGE;
	case AM_OP_NOT: return Kind::BITVECTOR_NOT;
	case AM_OP_NEG: return Kind::BITVECTOR_NEG;
	case AM_OP_CONCAT: return Kind::BITVECTOR_CONCAT;
	default: return Kind::NULL_TERM;
	}
}

bool is_comparison(am_op op)
{
	return op >= AM_OP_EQ && op <= AM_OP_SGE;
}

// Operations on truth values that need no bit-vector.
bool boolean_op(am_smt *smt, am_op op, int32_t a, int32_t b, Term *out)
{
	cvc5::Solver &s = smt->solver;
	switch (op) {
	case AM_OP_AND: *out = s.mkTerm(Kind::AND, {as_bool(smt, a), as_bool(smt, b)}); return true;
	case AM_OP_OR: *out = s.mkTerm(Kind::OR, {as_bool(smt, a), as_bool(smt, b)}); return true;
	case AM_OP_ADD:
	case AM_OP_SUB:
	case AM_OP_XOR: *out = s.mkTerm(Kind::XOR, {as_bool(smt, a), as_bool(smt, b)}); return true;
	case AM_OP_NOT: *out = s.mkTerm(Kind::NOT, {as_bool(smt, a)}); return true;
	default: return false;
	}
}

Term resize(am_smt *smt, am_op op, unsigned width, const Term &a)
{
	const unsigned w = a.getSort().getBitVectorSize();
	cvc5::Solver &s = smt->solver;
	if (w == width)
		return a;
	if (width < w)
		return s.mkTerm(s.mkOp(Kind::BITVECTOR_EXTRACT, {width - 1, 0}), {a});
	const Kind k = op == AM_OP_SEXT ? Kind::BITVECTOR_SIGN_EXTEND : Kind::BITVECTOR_ZERO_EXTEND;
	return s.mkTerm(s.mkOp(k, {width - w}), {a});
}

Term operation(am_smt *smt, am_op op, unsigned width, int32_t a, int32_t b, int32_t c)
{
	cvc5::Solver &s = smt->solver;
	Term t;
	if (op == AM_OP_ITE)
		return width == 1 ? s.mkTerm(Kind::ITE, {as_bool(smt, a), as_bool(smt, b),
							 as_bool(smt, c)})
				  : s.mkTerm(Kind::ITE, {as_bool(smt, a), as_bits(smt, b),
							 as_bits(smt, c)});
	if (width == 1 && !is_comparison(op) && op != AM_OP_EXTRACT && op != AM_OP_TRUNC &&
	    boolean_op(smt, op, a, b, &t))
		return t;
	const Term x = as_bits(smt, a);
	switch (op) {
	case AM_OP_ZEXT:
	case AM_OP_SEXT:
	case AM_OP_TRUNC: t = resize(smt, op, width, x); break;
	case AM_OP_EXTRACT:
		t = s.mkTerm(s.mkOp(Kind::BITVECTOR_EXTRACT,
				    {static_cast<uint32_t>(b) + width - 1, static_cast<uint32_t>(b)}),
			     {x});
		break;
	case AM_OP_EQ: return s.mkTerm(Kind::EQUAL, {x, as_bits(smt, b)});
	case AM_OP_NE: return s.mkTerm(Kind::DISTINCT, {x, as_bits(smt, b)});
	case AM_OP_NOT:
	case AM_OP_NEG: t = s.mkTerm(kind_of(op), {x}); break;
	default: t = s.mkTerm(kind_of(op), {x, as_bits(smt, b)}); break;
	}
	if (width == 1 && !t.getSort().isBoolean())
		t = s.mkTerm(Kind::EQUAL, {t, s.mkBitVector(1, 1)});
	return t;
}

uint64_t counter(const cvc5::Statistics &all, const char *name)
{
	for (auto it = all.begin(true, true); it != all.end(); ++it) {
		const auto &entry = *it;
		if (entry.first == name && entry.second.isInt())
			return static_cast<uint64_t>(entry.second.getInt());
	}
	return 0;
}

int32_t junction(am_smt *smt, Kind kind, const int32_t *lits, uint32_t count)
{
	if (count == 0)
		return kind == Kind::AND ? AM_SMT_TRUE : AM_SMT_FALSE;
	if (count == 1)
		return lits[0];
	std::vector<Term> parts;
	for (uint32_t i = 0; i < count; i++)
		parts.push_back(smt->lit(lits[i]));
	return smt->add(smt->solver.mkTerm(kind, parts));
}

} // namespace

extern "C" {

am_smt *am_smt_new(const char *logic, uint64_t ms)
{
	am_smt *smt = new am_smt;
	guarded(smt, 0, [&] {
		smt->logic = logic;
		smt->solver.setOption("incremental", "true");
		smt->solver.setOption("produce-models", "true");
		smt->solver.setOption("produce-unsat-assumptions", "true");
		smt->solver.setOption("output-language", "smt2");
		if (ms)
			smt->solver.setOption("tlimit-per", std::to_string(ms));
		// measured on difference constraints: the default heuristic takes four times as long
		if (smt->logic == "ALL")
			smt->solver.setOption("decision", "internal");
		smt->solver.setLogic(logic);
		smt->terms.emplace_back();
		smt->negations.emplace_back();
		smt->add(smt->solver.mkTrue());
		smt->negations[1] = smt->solver.mkFalse();
		return 0;
	});
	return smt;
}

void am_smt_free(am_smt *smt)
{
	delete smt;
}

const char *am_smt_error(const am_smt *smt)
{
	return smt->error.empty() ? nullptr : smt->error.c_str();
}

int32_t am_smt_bool(am_smt *smt, const char *name)
{
	return guarded(smt, AM_SMT_TRUE,
		       [&] { return variable(smt, smt->solver.getBooleanSort(), name); });
}

int32_t am_smt_int(am_smt *smt, const char *name)
{
	return guarded(smt, AM_SMT_TRUE,
		       [&] { return variable(smt, smt->solver.getIntegerSort(), name); });
}

int32_t am_smt_bv(am_smt *smt, const char *name, unsigned width)
{
	return guarded(smt, AM_SMT_TRUE,
		       [&] { return variable(smt, smt->solver.mkBitVectorSort(width), name); });
}

int32_t am_smt_int_const(am_smt *smt, int64_t value)
{
	return guarded(smt, AM_SMT_TRUE, [&] { return smt->add(smt->solver.mkInteger(value)); });
}

int32_t am_smt_bv_const(am_smt *smt, unsigned width, uint64_t value)
{
	if (width == 1)
		return value & 1 ? AM_SMT_TRUE : AM_SMT_FALSE;
	return guarded(smt, AM_SMT_TRUE,
		       [&] { return smt->add(smt->solver.mkBitVector(width, value)); });
}

int32_t am_smt_and(am_smt *smt, const int32_t *lits, uint32_t count)
{
	return guarded(smt, AM_SMT_TRUE, [&] { return junction(smt, Kind::AND, lits, count); });
}

int32_t am_smt_or(am_smt *smt, const int32_t *lits, uint32_t count)
{
	return guarded(smt, AM_SMT_TRUE, [&] { return junction(smt, Kind::OR, lits, count); });
}

int32_t am_smt_iff(am_smt *smt, int32_t a, int32_t b)
{
	return am_smt_eq(smt, a, b);
}

int32_t am_smt_eq(am_smt *smt, int32_t a, int32_t b)
{
	return guarded(smt, AM_SMT_TRUE, [&] {
		return smt->add(smt->solver.mkTerm(Kind::EQUAL, {smt->lit(a), smt->lit(b)}));
	});
}

int32_t am_smt_less(am_smt *smt, int32_t a, int32_t b)
{
	return guarded(smt, AM_SMT_TRUE, [&] {
		return smt->add(smt->solver.mkTerm(Kind::LT, {smt->lit(a), smt->lit(b)}));
	});
}

int32_t am_smt_op(am_smt *smt, am_op op, unsigned width, int32_t a, int32_t b, int32_t c)
{
	return guarded(smt, AM_SMT_TRUE,
		       [&] { return smt->add(operation(smt, op, width, a, b, c)); });
}

void am_smt_assert(am_smt *smt, int32_t lit)
{
	guarded(smt, 0, [&] {
		const Term t = smt->lit(lit);
		smt->assertions.push_back(t);
		smt->solver.assertFormula(t);
		smt->stats.assertions++;
		return 0;
	});
}

void am_smt_clause(am_smt *smt, const int32_t *lits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (lits[i] == AM_SMT_TRUE)
			return;
	const int32_t t = am_smt_or(smt, lits, count);
	am_smt_assert(smt, t);
}

void am_smt_push(am_smt *smt)
{
	guarded(smt, 0, [&] {
		smt->solver.push();
		smt->levels.push_back(smt->assertions.size());
		return 0;
	});
}

void am_smt_pop(am_smt *smt)
{
	guarded(smt, 0, [&] {
		smt->solver.pop();
		smt->assertions.resize(smt->levels.back());
		smt->levels.pop_back();
		return 0;
	});
}

am_smt_result am_smt_check(am_smt *smt, const int32_t *assumptions, uint32_t count, uint64_t units)
{
	if (!smt->error.empty())
		return AM_SMT_UNKNOWN;
	return guarded(smt, AM_SMT_UNKNOWN, [&] {
		if (units != smt->units_limit) {
			smt->solver.setOption("reproducible-resource-limit", std::to_string(units));
			smt->units_limit = units;
		}
		std::vector<Term> parts;
		smt->assumptions.assign(assumptions, assumptions + count);
		for (uint32_t i = 0; i < count; i++)
			parts.push_back(smt->lit(assumptions[i]));
		smt->stats.checks++;
		const cvc5::Result r = parts.empty() ? smt->solver.checkSat()
						     : smt->solver.checkSatAssuming(parts);
		return r.isSat() ? AM_SMT_SAT : r.isUnsat() ? AM_SMT_UNSAT : AM_SMT_UNKNOWN;
	});
}

bool am_smt_true(am_smt *smt, int32_t lit)
{
	int8_t truth = 0;
	am_smt_truths(smt, &lit, 1, &truth);
	return truth;
}

void am_smt_truths(am_smt *smt, const int32_t *lits, uint32_t count, int8_t *truth)
{
	guarded(smt, 0, [&] {
		std::vector<Term> parts;
		for (uint32_t i = 0; i < count; i++)
			parts.push_back(smt->terms.at(lits[i] < 0 ? -lits[i] : lits[i]));
		const std::vector<Term> values = smt->solver.getValue(parts);
		for (uint32_t i = 0; i < count; i++)
			truth[i] = values[i].getBooleanValue() == (lits[i] > 0);
		return 0;
	});
}

uint64_t am_smt_bits(am_smt *smt, int32_t term)
{
	return guarded(smt, uint64_t{0}, [&]() -> uint64_t {
		const Term v = smt->solver.getValue(smt->lit(term));
		if (v.getSort().isBoolean())
			return v.getBooleanValue();
		return std::stoull(v.getBitVectorValue(10));
	});
}

int64_t am_smt_number(am_smt *smt, int32_t term)
{
	return guarded(smt, int64_t{0},
		       [&] { return smt->solver.getValue(smt->lit(term)).getInt64Value(); });
}

uint32_t am_smt_core(am_smt *smt, int32_t *lits, uint32_t room)
{
	return guarded(smt, 0u, [&] {
		std::unordered_map<Term, int32_t> back;
		for (int32_t l : smt->assumptions)
			back.emplace(smt->lit(l), l);
		uint32_t n = 0;
		for (const Term &t : smt->solver.getUnsatAssumptions()) {
			auto it = back.find(t);
			if (it != back.end() && n < room)
				lits[n++] = it->second;
		}
		return n;
	});
}

void am_smt_get_stats(am_smt *smt, am_smt_stats *stats)
{
	guarded(smt, 0, [&] {
		const cvc5::Statistics all = smt->solver.getStatistics();
		smt->stats.conflicts = counter(all, "sat::conflicts");
		smt->stats.decisions = counter(all, "sat::decisions");
		smt->stats.propagations = counter(all, "sat::propagations");
		smt->stats.clause_literals = counter(all, "sat::clauses_literals");
		smt->stats.units = counter(all, "resource::resourceUnitsUsed");
		return 0;
	});
	*stats = smt->stats;
}

bool am_smt_dump(am_smt *smt, const int32_t *assumptions, uint32_t count, FILE *out)
{
	return guarded(smt, false, [&] {
		std::string text = "(set-logic " + smt->logic + ")\n";
		for (int32_t v : smt->declared)
			text += "(declare-const " + smt->terms[v].toString() + " " +
				smt->terms[v].getSort().toString() + ")\n";
		for (const Term &t : smt->assertions)
			text += "(assert " + t.toString() + ")\n";
		for (uint32_t i = 0; i < count; i++)
			text += "(assert " + smt->lit(assumptions[i]).toString() + ")\n";
		text += "(check-sat)\n";
		return fwrite(text.data(), 1, text.size(), out) == text.size();
	});
}

} // extern "C"
