// Boundaries of functions: how expressions go into a callee and come back, whether it is instrumented or not. Used by the
// symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_CALLS_H
#define ATOMMON_PASS_CALLS_H

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include "instrument/pass/begins.h"
#include "instrument/pass/nodes.h"

namespace atommon
{

class Calls {
	Nodes &nodes;
	Runtime &rt;
	Function &f;
	Function &identity; // the name under which callers know f
	const DenseMap<Function *, Function *> &known; // instrumented code -> identity

	static constexpr unsigned max_params = 16;

	static bool has_own_events(StringRef name)
	{
		for (const char *prefix : {"pthread_", "sem_", "mtx_", "cnd_", "thrd_", "call_once",
					   "atommon_", "__atommon", "__tsan_", "__cxa_", "__assert_fail"})
			if (begins(name, prefix))
				return true;
		return false;
	}

public:
	Calls(Nodes &n, Function &function, Function &id, const DenseMap<Function *, Function *> &all)
		: nodes(n), rt(n.rt), f(function), identity(id), known(all)
	{
	}

	void enter()
	{
		IRBuilder<> b(&*f.getEntryBlock().getFirstInsertionPt());
		if (auto *where = f.getSubprogram())
			b.SetCurrentDebugLocation(
				DILocation::get(f.getContext(), where->getLine(), 0, where));
		auto *level = b.getInt32(0);
		auto *caller = b.CreateIntrinsic(Intrinsic::returnaddress, {}, {level});
		rt.call(b, "__tsan_func_entry", rt.nothing, {rt.raw(b, caller)});
		rt.call(b, "__atommon_sym_enter", rt.nothing, {rt.raw(b, &identity)});
		for (auto &a : f.args())
			if (width_of(a.getType()) && a.getArgNo() < max_params && !a.use_empty())
				nodes.set(&a, rt.call(b, "__atommon_sym_param", rt.i32,
						      {rt.number(b, a.getArgNo())}));
	}

	void leave(ReturnInst &i)
	{
		auto *v = i.getReturnValue();
		auto *before = i.getPrevNode();
		if (auto *call = dyn_cast_or_null<CallInst>(before); call && call->isMustTailCall())
			return;
		IRBuilder<> b(&i);
		if (v && width_of(v->getType()))
			rt.call(b, "__atommon_sym_return", rt.nothing,
				{rt.raw(b, &identity), nodes.of(v)});
	}

	void call(CallBase &i)
	{
		auto *callee = i.getCalledOperand()->stripPointerCasts();
		auto *direct = dyn_cast<Function>(callee);
		if (i.isInlineAsm()) {
			nodes.pin_operands(i);
			return;
		}
		if (direct && (begins(direct->getName(), "__atommon") ||
			       begins(direct->getName(), "__tsan_")))
			return;
		unsigned flags = 0;
		Value *id = callee;
		if (const auto found = known.find(direct); direct && found != known.end()) {
			flags |= AM_SYM_KNOWN;
			id = found->second;
		}
		if (direct && has_own_events(direct->getName()))
			flags |= AM_SYM_QUIET;
		IRBuilder<> b(&i);
		nodes.pin(b, i.getCalledOperand());
		rt.call(b, "__atommon_sym_call", rt.nothing, {rt.raw(b, id), rt.number(b, flags)});
		const unsigned fixed = i.getFunctionType()->getNumParams();
		for (unsigned n = 0; n < i.arg_size(); n++) {
			auto *a = i.getArgOperand(n);
			if (!nodes.follows(a))
				continue;
			if (n < max_params && n < fixed)
				rt.call(b, "__atommon_sym_arg", rt.nothing,
					{rt.number(b, n), nodes.of(a), to_64(b, a)});
			else
				nodes.pin(b, a);
		}
		if (!width_of(i.getType()) || i.isMustTailCall() || i.use_empty())
			return;
		Instruction *after = i.getNextNode();
		if (auto *invoke = dyn_cast<InvokeInst>(&i)) {
			auto *normal = invoke->getNormalDest();
			if (!normal->getSinglePredecessor())
				normal = SplitEdge(invoke->getParent(), normal);
			after = &*normal->getFirstInsertionPt();
		} else if (isa<CallBrInst>(i)) {
			return;
		}
		IRBuilder<> c(after);
		c.SetCurrentDebugLocation(i.getDebugLoc());
		nodes.set(&i, rt.call(c, "__atommon_sym_result", rt.i32, {rt.raw(c, id)}));
	}
};

} // namespace atommon

#endif
