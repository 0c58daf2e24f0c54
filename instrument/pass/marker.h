// The variable behind ATOMMON_REGION: the program does not know it, so it is no access of the program's. Used by the symbolic
// pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_MARKER_H
#define ATOMMON_PASS_MARKER_H

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include "instrument/pass/begins.h"

namespace atommon
{

using namespace llvm;

// Only the loop that it makes, and our own functions, see it.
inline bool is_marker(const Value *at)
{
	const auto *local = dyn_cast<AllocaInst>(getUnderlyingObject(at));
	if (!local)
		return false;
	SmallVector<const Value *, 8> todo{local};
	bool is_passed = false;
	while (!todo.empty())
		for (const auto *user : todo.pop_back_val()->users()) {
			if (isa<BitCastInst>(user) || isa<GetElementPtrInst>(user)) {
				todo.push_back(user);
				continue;
			}
			const auto *call = dyn_cast<CallBase>(user);
			if (!call || isa<IntrinsicInst>(user))
				continue;
			const auto *callee = call->getCalledFunction();
			if (!callee || !begins(callee->getName(), "atommon_"))
				return false;
			is_passed = true;
		}
	return is_passed;
}

} // namespace atommon

#endif
