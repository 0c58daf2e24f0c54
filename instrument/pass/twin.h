// Two versions of a function in one program: one that is watched, one that is not; each function
// begins with a look at `__atommon_armed`, which is 0 unless libatommon.so is preloaded. Used by the
// passes, at the very start of the pipeline; after the optimisers the checks of inlined functions
// have folded into one. A function that is not understood here keeps one version: slower, not wrong.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_TWIN_H
#define ATOMMON_PASS_TWIN_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include "instrument/pass/begins.h"

namespace atommon
{

using namespace llvm;


// A second copy of an assembler label would not assemble.
inline bool defines_label(const Instruction &i)
{
	const auto *call = dyn_cast<CallBase>(&i);
	if (!call || !call->isInlineAsm())
		return false;
	const auto &text = cast<InlineAsm>(call->getCalledOperand())->getAsmString();
	return text.find(':') != std::string::npos || text.find(".macro") != std::string::npos ||
	       isa<CallBrInst>(i);
}

inline bool can_have_twin(const Function &f)
{
	if (f.isDeclaration() || f.hasAvailableExternallyLinkage() || f.isVarArg() ||
	    f.hasFnAttribute(Attribute::Naked))
		return false;
	for (const auto &block : f) {
		if (block.hasAddressTaken())
			return false;
		for (const auto &i : block)
			if (defines_label(i) || isa<IndirectBrInst>(i))
				return false;
	}
	return true;
}

// Calls between instrumented versions need no second look at the flag.
inline void call_twins(Function &f, const DenseMap<Function *, Function *> &twin)
{
	for (auto &block : f)
		for (auto &i : block)
			if (auto *call = dyn_cast<CallBase>(&i)) {
				auto *callee = call->getCalledFunction();
				if (!callee || callee->isInterposable())
					continue;
				const auto found = twin.find(callee);
				if (found != twin.end())
					call->setCalledFunction(found->second);
			}
}

// At the start of f: if (__atommon_armed) return twin(arguments).
inline void dispatch(Function &f, Function &twin, GlobalVariable &armed)
{
	auto &context = f.getContext();
	auto *entry = BasicBlock::Create(context, "atommon.entry", &f, &f.getEntryBlock());
	auto *away = BasicBlock::Create(context, "atommon.watched", &f);
	auto *plain = entry->getNextNode();

	IRBuilder<> b(entry);
	auto *flag = b.CreateLoad(b.getInt32Ty(), &armed, "armed");
	flag->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context, {}));
	b.CreateCondBr(b.CreateICmpNE(flag, b.getInt32(0)), away, plain,
		       MDBuilder(context).createBranchWeights(1, 1 << 16));
	// Fixed-size locals must stay in the entry block, or they become dynamic ones.
	for (auto i = plain->begin(); i != plain->end();) {
		auto *local = dyn_cast<AllocaInst>(&*i++);
		if (local && isa<ConstantInt>(local->getArraySize()))
			local->moveBefore(flag);
	}

	b.SetInsertPoint(away);
	if (auto *where = f.getSubprogram())
		b.SetCurrentDebugLocation(DILocation::get(context, where->getLine(), 0, where));
	SmallVector<Value *, 8> arguments;
	for (auto &a : f.args())
		arguments.push_back(&a);
	auto *call = b.CreateCall(&twin, arguments);
	call->setCallingConv(f.getCallingConv());
	call->setAttributes(AttributeList::get(context, AttributeSet(), f.getAttributes().getRetAttrs(), [&] {
		SmallVector<AttributeSet, 8> sets;
		for (unsigned i = 0; i < f.arg_size(); i++)
			sets.push_back(f.getAttributes().getParamAttrs(i));
		return sets;
	}()));
	// With an argument in memory LLVM's jump would copy it over the return address.
	bool has_copies = false;
	for (auto &a : f.args())
		has_copies |= a.hasPassPointeeByValueCopyAttr();
	call->setTailCallKind(has_copies ? CallInst::TCK_NoTail : CallInst::TCK_MustTail);
	if (f.getReturnType()->isVoidTy())
		b.CreateRetVoid();
	else
		b.CreateRet(call);
}

// Declared `inline`, defined in a class, or made from a template.
inline bool is_inline(const Function &f)
{
	return f.hasFnAttribute(Attribute::InlineHint) || f.hasFnAttribute(Attribute::AlwaysInline) ||
	       f.hasLinkOnceODRLinkage();
}

// Of the C++ library: nobody means its functions to be regions.
inline bool is_standard(const Function &f)
{
	const auto name = f.getName();
	for (const char *prefix : {"_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"})
		if (begins(name, prefix))
			return true;
	return false;
}

// May the watched version be inlined, so that ATOMMON_ATOMIC=fn:NAME does not see it? One that calls nothing but its
// like: accessors, constructors. What takes a lock, or has others do the work, stays.
inline bool may_vanish(const Function &f, SmallPtrSetImpl<const Function *> &asked)
{
	if (!is_inline(f) || f.isDeclaration() || f.hasFnAttribute(Attribute::NoInline))
		return false;
	if (is_standard(f) || !asked.insert(&f).second)
		return true;
	for (const auto &block : f)
		for (const auto &i : block) {
			const auto *call = dyn_cast<CallBase>(&i);
			if (!call || call->isInlineAsm())
				continue;
			const auto *callee = call->getCalledFunction();
			if (!callee || (!callee->isIntrinsic() && !may_vanish(*callee, asked)))
				return false;
		}
	return true;
}

// Gives each of the chosen functions its watched version: chosen function -> twin. What remains
// under the old name is the version that is not watched. `inlines`: watched versions may be inlined as far as
// they may vanish.
inline DenseMap<Function *, Function *> make_twins(Module &m, ArrayRef<Function *> chosen, bool inlines)
{
	DenseMap<Function *, Function *> twin;
	if (chosen.empty())
		return twin;
	auto *armed = cast<GlobalVariable>(
		m.getOrInsertGlobal("__atommon_armed", Type::getInt32Ty(m.getContext())));
	for (auto *f : chosen) {
		ValueToValueMapTy map;
		auto *t = CloneFunction(f, map);
		t->setName(f->getName() + ".atommon");
		t->setLinkage(GlobalValue::InternalLinkage);
		t->setVisibility(GlobalValue::DefaultVisibility);
		t->setDLLStorageClass(GlobalValue::DefaultStorageClass);
		t->setDSOLocal(true);
		t->setComdat(nullptr);
		// An exit callback reached by a jump would seem to come from the caller.
		t->addFnAttr("disable-tail-calls", "true");
		// An inlined function would have no entry to see (ATOMMON_ATOMIC=fn:NAME).
		SmallPtrSet<const Function *, 8> asked;
		if (!t->hasFnAttribute(Attribute::AlwaysInline) && !(inlines && may_vanish(*f, asked)))
			t->addFnAttr(Attribute::NoInline);
		twin[f] = t;
	}
	for (auto *f : chosen) {
		call_twins(*twin[f], twin);
		dispatch(*f, *twin[f], *armed);
	}
	return twin;
}

} // namespace atommon

#endif
