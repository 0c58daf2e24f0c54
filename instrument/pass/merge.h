// Where the sides of a branch meet again: its immediate post-dominator, by the ways that return. LLVM's own answer counts
// every end of a function, so an assertion, a call of abort or one that may throw on one side would leave none. Used by the
// symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_MERGE_H
#define ATOMMON_PASS_MERGE_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"

namespace atommon
{

using namespace llvm;

class Merges {
	PostDominatorTree all_ends; // for blocks from which the function does not return
	// Cooper, Harvey, Kennedy: A simple, fast dominance algorithm; on the graph turned round, from a common end (0).
	DenseMap<const BasicBlock *, unsigned> number; // in reverse postorder from the end, 1 and up
	SmallVector<BasicBlock *, 64> block;	       // by number - 1
	SmallVector<unsigned, 64> above;	       // immediate post-dominator, by number

	// The returning blocks, and all from which they can be reached, successors before predecessors as far as that goes.
	void order(Function &f)
	{
		SmallVector<BasicBlock *, 64> after;
		SmallPtrSet<BasicBlock *, 32> seen;
		for (auto &end : f) {
			if (!isa<ReturnInst>(end.getTerminator()))
				continue;
			SmallVector<std::pair<BasicBlock *, pred_iterator>, 32> way;
			if (seen.insert(&end).second)
				way.push_back({&end, pred_begin(&end)});
			while (!way.empty()) {
				auto *at = way.back().first;
				auto &next = way.back().second;
				if (next == pred_end(at)) {
					after.push_back(at);
					way.pop_back();
				} else if (auto *p = *next++; seen.insert(p).second) {
					way.push_back({p, pred_begin(p)});
				}
			}
		}
		block.assign(after.rbegin(), after.rend());
		for (unsigned i = 0; i < block.size(); i++)
			number[block[i]] = i + 1;
	}

	unsigned meet(unsigned a, unsigned b) const
	{
		while (a != b)
			(a > b ? a : b) = above[a > b ? a : b];
		return a;
	}

	unsigned meet_of_successors(const BasicBlock *b) const
	{
		static constexpr unsigned unknown = ~0u;
		unsigned met = unknown;
		if (isa<ReturnInst>(b->getTerminator()))
			return 0;
		for (auto *s : successors(b)) {
			const auto found = number.find(s);
			if (found == number.end() || above[found->second] == unknown)
				continue;
			met = met == unknown ? found->second : meet(met, found->second);
		}
		return met;
	}

public:
	explicit Merges(Function &f) : all_ends(f)
	{
		order(f);
		above.assign(block.size() + 1, ~0u);
		above[0] = 0;
		for (bool changed = true; changed;) {
			changed = false;
			for (unsigned i = 1; i <= block.size(); i++) {
				const unsigned met = meet_of_successors(block[i - 1]);
				changed |= met != above[i];
				above[i] = met;
			}
		}
	}

	// nullptr: they do not.
	BasicBlock *of(BasicBlock &from) const
	{
		const auto found = number.find(&from);
		if (found != number.end())
			return above[found->second] ? block[above[found->second] - 1] : nullptr;
		auto *node = all_ends.getNode(&from);
		return node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
	}
};

} // namespace atommon

#endif
