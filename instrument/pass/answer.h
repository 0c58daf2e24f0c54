// What the library asks of the code around an atomic or volatile access (preload/insn.h), answered by the one who knows: in
// which loop it is, and whether its result is used, or only compared with one. It is in the code behind the call (atommon/inlined.h), so that other
// accesses of the function may have blocks of their own, which would look like loops, and calls that keep registers. Used
// by the twin pass, behind the sanitizer's.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_ANSWER_H
#define ATOMMON_PASS_ANSWER_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include "atommon/inlined.h"

namespace atommon
{

using namespace llvm;

inline SmallVector<CallInst *, 8> find_judged(Function &f)
{
	SmallVector<CallInst *, 8> found;
	for (auto &block : f)
		for (auto &i : block) {
			auto *call = dyn_cast<CallInst>(&i);
			auto *callee = call ? call->getCalledFunction() : nullptr;
			if (!callee || !callee->getName().contains("__tsan_"))
				continue;
			if (callee->getName().contains("atomic") || callee->getName().contains("volatile"))
				found.push_back(call);
		}
	return found;
}

// A loop's number, and that of the last one in it.
struct LoopNumbers {
	DenseMap<const Loop *, std::pair<unsigned, unsigned>> of;
	unsigned n = 0;

	void count(const Loop &loop)
	{
		const unsigned first = ++n;
		for (const auto *inner : loop)
			count(*inner);
		of[&loop] = {first, n};
	}
};

// Is the result, of which `less` was taken off, looked at only in comparisons that come out the same for all numbers from two on? No count of
// owners reaches half of 32 bits. May pass through other variables; an expression that takes one off is followed once.
inline bool is_only_compared(const Value &value, unsigned less, SmallSet<std::pair<const Value *, unsigned>, 8> &seen)
{
	const auto *type = dyn_cast<IntegerType>(value.getType());
	if (!type || type->getBitWidth() < 32)
		return false;
	if (!seen.insert({&value, less}).second)
		return true;
	const unsigned bits = type->getBitWidth();
	const ConstantRange range(APInt(bits, 2 - less), APInt(bits, INT32_MAX));
	for (const auto *user : value.users()) {
		if (isa<PHINode>(user) || isa<FreezeInst>(user) || isa<TruncInst>(user) || isa<SExtInst>(user) || isa<ZExtInst>(user)) {
			if (!is_only_compared(*user, less, seen))
				return false;
			continue;
		}
		const auto *number = user->getNumOperands() == 2 ? dyn_cast<ConstantInt>(user->getOperand(1)) : nullptr;
		const auto *sum = dyn_cast<BinaryOperator>(user);
		const auto *test = dyn_cast<ICmpInst>(user);
		if (number && test) {
			const auto yes = ConstantRange::makeExactICmpRegion(test->getPredicate(), number->getValue());
			if (!yes.contains(range) && !yes.inverse().contains(range))
				return false;
		} else if (number && sum && less == 0 &&
			   ((sum->getOpcode() == Instruction::Add && number->isMinusOne()) ||
			    (sum->getOpcode() == Instruction::Sub && number->isOne()))) {
			if (!is_only_compared(*user, 1, seen))
				return false;
		} else {
			return false;
		}
	}
	return true;
}

inline bool is_used_in_any_way(const CallInst &call)
{
	SmallSet<std::pair<const Value *, unsigned>, 8> seen;
	return !is_only_compared(call, 0, seen);
}

inline void put_answer(CallInst &call, std::pair<unsigned, unsigned> loop)
{
	const uint32_t answer = loop.first | loop.second << AM_ANSWER_BITS | (call.use_empty() ? AM_ANSWER_UNUSED : 0) |
				(is_used_in_any_way(call) ? AM_ANSWER_ANY : 0) |
				(uint32_t)AM_ANSWER_SAME << AM_ANSWER_SHIFT;
	std::string text = ".byte ";
	for (const unsigned byte : {AM_ANSWER_CODE})
		text += std::to_string(byte) + ", ";
	for (unsigned i = 0; i < 4; i++)
		text += std::to_string(answer >> 8 * i & 0xff) + (i < 3 ? ", " : "");
	IRBuilder<> b(call.getNextNode());
	b.SetCurrentDebugLocation(call.getDebugLoc());
	b.CreateCall(InlineAsm::get(FunctionType::get(b.getVoidTy(), false), text, "", true))->addFnAttr(Attribute::NoUnwind);
}

// False: there is something to ask that cannot be told so.
inline bool put_answers(Function &f, const LoopInfo &loops)
{
	const auto found = find_judged(f);
	LoopNumbers numbers;
	if (found.empty())
		return true;
	for (const auto *loop : loops)
		numbers.count(*loop);
	const ReversePostOrderTraversal<const Function *> order(&f);
	if (numbers.n > AM_ANSWER_LOOPS || containsIrreducibleCFG<const BasicBlock *>(order, loops))
		return false;
	for (auto *call : found) {
		const auto *loop = loops.getLoopFor(call->getParent());
		put_answer(*call, loop ? numbers.of[loop] : std::make_pair(0u, 0u));
	}
	return true;
}

} // namespace atommon

#endif
