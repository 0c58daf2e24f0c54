// Branches, switches, assertions and the values that meet behind them. Used by the symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_CONTROL_H
#define ATOMMON_PASS_CONTROL_H

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
	DenseMap<Instruction *, SmallVector<Constant *, 2>> side;

	static constexpr unsigned max_cases = 256;

	// assert(c) calls a function that does not return when c is false.
	static bool fails(const BasicBlock *block)
	{
		for (const auto &i : *block)
			if (const auto *call = dyn_cast<CallBase>(&i))
				if (const auto *callee = call->getCalledFunction())
					if (callee->getName() == "__assert_fail" ||
					    callee->getName() == "__assert_perror_fail" ||
					    callee->getName() == "__assert")
						return true;
		return false;
	}

public:
	Control(Nodes &n, Function &function, Sides &s) : nodes(n), rt(n.rt), f(function), sides(s) {}

	// Before anything is changed.
	void find_sides(PostDominatorTree &tree)
	{
		for (auto &block : f) {
			auto *end = block.getTerminator();
			auto *merge = Sides::merge_of(block, tree);
			if (auto *br = dyn_cast<BranchInst>(end); br && br->isConditional()) {
				side[end].push_back(sides.of_side(*br->getSuccessor(0), merge));
				side[end].push_back(sides.of_side(*br->getSuccessor(1), merge));
			} else if (isa<SwitchInst>(end)) {
				side[end].push_back(sides.of_side(block, merge));
			}
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
		const auto &s = side[&i];
		auto *not_taken = b.CreateSelect(c, s[1], s[0]);
		rt.call(b, "__atommon_sym_branch", rt.nothing, {n, outcome, not_taken});
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
			 rt.number(b, values.size()), rt.raw(b, table), side[&i][0]});
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
