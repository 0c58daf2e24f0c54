// Branches, switches, assertions and the values that meet behind them. Used by the symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_CONTROL_H
#define ATOMMON_PASS_CONTROL_H

#include "instrument/pass/merge.h"
#include "instrument/pass/nodes.h"
#include "instrument/pass/sides.h"

namespace atommon
{

class Control {
	Nodes &nodes;
	Runtime &rt;
	Function &f;
	Sides &sides;
	SmallVector<std::pair<PHINode *, PHINode *>, 16> phis;

	static constexpr unsigned max_cases = 256, max_sides = 32;

	// Where a branch or switch ends: what each way out may write before the ways meet.
	struct Ways {
		SmallVector<std::pair<BasicBlock *, Writes>, 2> side; // each successor once
		unsigned merge_line;
	};
	DenseMap<Instruction *, Ways> ways;

	// assert(c) calls a function that does not return when c is false.
	static bool fails(const BasicBlock *block)
	{
		for (const auto &i : *block)
			if (const auto *call = dyn_cast<CallBase>(&i))
				if (is_failure(*call))
					return true;
		return false;
	}

	// The ways not taken if `taken` is. nullptr: any.
	Constant *but(const Ways &w, const BasicBlock *taken)
	{
		Writes all;
		for (const auto &s : w.side)
			if (s.first != taken)
				all.add(s.second);
		return sides.constant(all, w.merge_line);
	}

	// Of a switch.
	Value *not_taken(IRBuilder<> &b, SwitchInst &i, const Ways &w)
	{
		if (w.side.size() > max_sides)
			return but(w, nullptr);
		Value *result = but(w, i.getDefaultDest());
		for (auto &each : i.cases())
			if (each.getCaseSuccessor() != i.getDefaultDest())
				result = b.CreateSelect(b.CreateICmpEQ(i.getCondition(), each.getCaseValue()),
							but(w, each.getCaseSuccessor()), result);
		return result;
	}

public:
	Control(Nodes &n, Function &function, Sides &s) : nodes(n), rt(n.rt), f(function), sides(s) {}

	// Before any function is changed: the sides call others.
	void find_sides()
	{
		const Merges merges(f);
		for (auto &block : f) {
			auto *end = block.getTerminator();
			auto *br = dyn_cast<BranchInst>(end);
			if (!isa<SwitchInst>(end) && !(br && br->isConditional()))
				continue;
			auto *merge = merges.of(block);
			Ways &w = ways[end];
			SmallPtrSet<BasicBlock *, 8> seen;
			for (auto *side : successors(&block))
				if (seen.insert(side).second)
					w.side.push_back({side, sides.of_side(*side, merge)});
			w.merge_line = Sides::line_of(merge);
		}
	}

	void branch(BranchInst &i)
	{
		if (!i.isConditional() || !nodes.follows(i.getCondition()))
			return;
		IRBuilder<> b(&i);
		const bool asserts = fails(i.getSuccessor(0)) != fails(i.getSuccessor(1));
		const bool inverted = asserts && fails(i.getSuccessor(0));
		auto *c = i.getCondition();
		Value *n = nodes.of(c), *outcome = b.CreateZExt(c, rt.i32);
		if (inverted) { // the asserted condition is the negation
			n = nodes.op(b, AM_OP_NOT, 1, nodes.term(b, c));
			outcome = b.CreateXor(outcome, 1);
		}
		if (asserts)
			outcome = b.CreateOr(outcome, AM_SYM_ASSERT);
		const Ways &w = ways[&i];
		auto *untaken = b.CreateSelect(c, but(w, i.getSuccessor(0)), but(w, i.getSuccessor(1)));
		rt.call(b, "__atommon_sym_branch", rt.nothing, {n, outcome, untaken});
	}

	void choose(SwitchInst &i)
	{
		auto *c = i.getCondition();
		if (!nodes.follows(c))
			return;
		IRBuilder<> b(&i);
		if (i.getNumCases() > max_cases) {
			nodes.pin(b, c);
			return;
		}
		SmallVector<uint64_t, 16> values;
		for (auto &each : i.cases())
			values.push_back(each.getCaseValue()->getZExtValue());
		auto *data = ConstantDataArray::get(f.getContext(), values);
		auto *table = new GlobalVariable(*f.getParent(), data->getType(), true,
						 GlobalValue::PrivateLinkage, data, "atommon.cases");
		rt.call(b, "__atommon_sym_switch", rt.nothing,
			{nodes.of(c), to_64(b, c), rt.number(b, width_of(c->getType())),
			 rt.number(b, values.size()), rt.raw(b, table), not_taken(b, i, ways[&i])});
	}

	void join(PHINode &i)
	{
		if (!width_of(i.getType()))
			return;
		auto *n = PHINode::Create(rt.i32, i.getNumIncomingValues(), "", &i);
		nodes.set(&i, n);
		phis.push_back({&i, n});
	}

	// When all values have their nodes.
	void close_joins()
	{
		for (auto &p : phis)
			for (unsigned i = 0; i < p.first->getNumIncomingValues(); i++)
				p.second->addIncoming(nodes.of(p.first->getIncomingValue(i)),
						      p.first->getIncomingBlock(i));
	}
};

} // namespace atommon

#endif
