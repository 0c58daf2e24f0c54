// The twin pass: makes two versions of each function that -fsanitize=thread would instrument. One
// keeps the callbacks, one has none; each function begins with a look at `__atommon_armed`, which
// is 0 unless libatommon.so is preloaded. So a program runs at near full speed by itself.
//
// Runs inside clang as a pass plugin, at the very start of the pipeline, long before the sanitizer
// and the optimisers; after those, the checks of inlined functions have folded into one. Must leave
// a function that it does not understand as it is: that is slower, never wrong.
//
// SPDX-License-Identifier: MIT
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace {

// A second copy of an assembler label would not assemble.
bool defines_label(const Instruction &i)
{
	const auto *call = dyn_cast<CallBase>(&i);
	if (!call || !call->isInlineAsm())
		return false;
	const auto &text = cast<InlineAsm>(call->getCalledOperand())->getAsmString();
	return text.find(':') != std::string::npos || text.find(".macro") != std::string::npos ||
	       isa<CallBrInst>(i);
}

bool can_have_twin(const Function &f)
{
	if (f.isDeclaration() || f.hasAvailableExternallyLinkage() || f.isVarArg() ||
	    !f.hasFnAttribute(Attribute::SanitizeThread) || f.hasFnAttribute(Attribute::Naked))
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
void call_twins(Function &f, const DenseMap<Function *, Function *> &twin)
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
void dispatch(Function &f, Function &twin, GlobalVariable &armed)
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
	call->setTailCallKind(CallInst::TCK_MustTail);
	if (f.getReturnType()->isVoidTy())
		b.CreateRetVoid();
	else
		b.CreateRet(call);
}

struct Twin : PassInfoMixin<Twin> {
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &)
	{
		SmallVector<Function *, 32> chosen;
		for (auto &f : m)
			if (can_have_twin(f))
				chosen.push_back(&f);
		if (chosen.empty())
			return PreservedAnalyses::all();

		auto *armed = cast<GlobalVariable>(
			m.getOrInsertGlobal("__atommon_armed", Type::getInt32Ty(m.getContext())));
		DenseMap<Function *, Function *> twin;
		for (auto *f : chosen) {
			ValueToValueMapTy map;
			auto *t = CloneFunction(f, map);
			t->setName(f->getName() + ".atommon");
			t->setLinkage(GlobalValue::InternalLinkage);
			t->setVisibility(GlobalValue::DefaultVisibility);
			t->setDLLStorageClass(GlobalValue::DefaultStorageClass);
			t->setDSOLocal(true);
			t->setComdat(nullptr);
			twin[f] = t;
		}
		for (auto *f : chosen) {
			call_twins(*twin[f], twin);
			f->removeFnAttr(Attribute::SanitizeThread);
			f->addFnAttr(Attribute::DisableSanitizerInstrumentation);
			dispatch(*f, *twin[f], *armed);
		}
		return PreservedAnalyses::none();
	}
	static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return {LLVM_PLUGIN_API_VERSION, "atommon-twin", "1", [](PassBuilder &pb) {
			pb.registerPipelineStartEPCallback(
				[](ModulePassManager &mpm, auto) { mpm.addPass(Twin()); });
		}};
}
