// At the start and the ends of a watched function: is it a region (ATOMMON_ATOMIC=fn:NAME)? Asked by a call until the
// library has said that it is not, in a byte of the function's own. Used by the twin pass, behind the sanitizer's.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_ENTRY_H
#define ATOMMON_PASS_ENTRY_H

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace atommon
{

using namespace llvm;

// They lie together, apart from what the program writes.
inline GlobalVariable *make_byte(Function &f)
{
	auto *type = Type::getInt8Ty(f.getContext());
	auto *byte = new GlobalVariable(*f.getParent(), type, false, GlobalValue::InternalLinkage, ConstantInt::get(type, 0),
					f.getName() + ".is_none");
	byte->setSection("atommon_is_none");
	byte->setAlignment(Align(1));
	return byte;
}

// Fixed-size locals must stay in the first block, or they become dynamic ones.
inline void gather_locals(BasicBlock &first)
{
	auto i = first.begin();
	while (isa<AllocaInst>(*i))
		++i;
	auto *const before = &*i;
	while (i != first.end()) {
		auto *local = dyn_cast<AllocaInst>(&*i++);
		if (local && isa<ConstantInt>(local->getArraySize()))
			local->moveBefore(before);
	}
}

inline SmallVector<CallInst *, 8> calls_of(Function &f, StringRef name)
{
	SmallVector<CallInst *, 8> found;
	for (auto &block : f)
		for (auto &i : block)
			if (auto *call = dyn_cast<CallInst>(&i); call && call->getCalledFunction())
				if (call->getCalledFunction()->getName() == name)
					found.push_back(call);
	return found;
}

// The sanitizer's call at the start has no line of its own; where it was, it had that of the function.
inline DebugLoc line_of(const CallInst &call)
{
	auto *where = call.getFunction()->getSubprogram();
	if ((call.getDebugLoc() && call.getDebugLoc().getLine() != 0) || !where)
		return call.getDebugLoc();
	return DILocation::get(call.getContext(), where->getLine(), 0, where);
}

// In the place of `call`: if (!byte) name(&byte).
inline void ask_unless(GlobalVariable &byte, CallInst &call, const char *name)
{
	auto &m = *byte.getParent();
	auto *type = FunctionType::get(Type::getVoidTy(m.getContext()), {byte.getType()}, false);
	auto *callee = cast<Function>(m.getOrInsertFunction(name, type).getCallee());
	callee->setCallingConv(CallingConv::PreserveMost);
	callee->addFnAttr(Attribute::NoUnwind);
	callee->addFnAttr(Attribute::NonLazyBind); // to bind it late would change registers

	IRBuilder<> b(&call);
	auto *is_unknown = b.CreateICmpEQ(b.CreateLoad(b.getInt8Ty(), &byte), b.getInt8(0));
	auto *rarely = MDBuilder(m.getContext()).createBranchWeights(1, 1 << 16);
	b.SetInsertPoint(SplitBlockAndInsertIfThen(is_unknown, &call, false, rarely));
	b.SetCurrentDebugLocation(line_of(call));
	auto *by = b.CreateCall(type, callee, {&byte});
	by->setCallingConv(CallingConv::PreserveMost);
	by->addFnAttr(Attribute::NoMerge);
	call.eraseFromParent();
}

inline void ask_once(Function &f)
{
	const auto entries = calls_of(f, "__tsan_func_entry"), exits = calls_of(f, "__tsan_func_exit");
	if (entries.empty())
		return;
	auto *byte = make_byte(f);
	gather_locals(f.getEntryBlock());
	for (auto *call : entries) {
		auto *caller = dyn_cast<Instruction>(call->getArgOperand(0));
		ask_unless(*byte, *call, "__atommon_entry");
		if (caller && caller->use_empty())
			caller->eraseFromParent();
	}
	for (auto *call : exits)
		ask_unless(*byte, *call, "__atommon_exit");
}

} // namespace atommon

#endif
