// The twin pass: gives each function that -fsanitize=thread would instrument a second version without
// callbacks, so that a program runs at near full speed when it is not watched. Runs inside clang as
// a pass plugin, before the optimisers and the sanitizer's own pass.
//
// SPDX-License-Identifier: MIT
#include "instrument/pass/inline.h"
#include "instrument/pass/twin.h"

#include "atommon/containers.h"
#include "atommon/strings.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace
{

struct Twin : PassInfoMixin<Twin> {
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &)
	{
		SmallVector<Function *, 32> chosen;
		for (auto &f : m)
			if (f.hasFnAttribute(Attribute::SanitizeThread) && atommon::can_have_twin(f))
				chosen.push_back(&f);
		for (const auto &pair : atommon::make_twins(m, chosen, true)) {
			pair.first->removeFnAttr(Attribute::SanitizeThread);
			pair.first->addFnAttr(Attribute::DisableSanitizerInstrumentation);
		}
		return chosen.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
	}
	static bool isRequired() { return true; }
};

// memcpy, memmove, memset of watched code; clang 16 and later do this by themselves.
struct Copies : PassInfoMixin<Copies> {
	static const char *watched_name(const CallInst &call)
	{
		if (isa<MemCpyInst>(call))
			return "__tsan_memcpy";
		if (isa<MemMoveInst>(call))
			return "__tsan_memmove";
		if (isa<MemSetInst>(call))
			return "__tsan_memset";
		const auto *f = call.getCalledFunction();
		if (!f || call.arg_size() != 3 || !call.getType()->isPointerTy())
			return nullptr;
		return f->getName() == "memcpy"	   ? "__tsan_memcpy"
		       : f->getName() == "memmove" ? "__tsan_memmove"
		       : f->getName() == "memset"  ? "__tsan_memset"
						   : nullptr;
	}

	static void replace(Module &m, CallInst &call, const char *name)
	{
		IRBuilder<> b(&call);
		auto *pointer = PointerType::get(b.getInt8Ty(), 0);
		const bool sets = isa<MemSetInst>(call) || StringRef(name) == "__tsan_memset";
		auto *second = sets ? (Type *)b.getInt32Ty() : (Type *)pointer;
		auto callee = m.getOrInsertFunction(name, pointer, pointer, second, b.getInt64Ty());
		auto *to = b.CreatePointerCast(call.getArgOperand(0), pointer);
		auto *from = sets ? b.CreateIntCast(call.getArgOperand(1), b.getInt32Ty(), false)
				  : b.CreatePointerCast(call.getArgOperand(1), pointer);
		auto *n = b.CreateIntCast(call.getArgOperand(2), b.getInt64Ty(), false);
		auto *result = b.CreateCall(callee, {to, from, n});
		if (!call.getType()->isVoidTy())
			call.replaceAllUsesWith(b.CreatePointerCast(result, call.getType()));
		call.eraseFromParent();
	}

	PreservedAnalyses run(Module &m, ModuleAnalysisManager &)
	{
		SmallVector<std::pair<CallInst *, const char *>, 16> found;
		for (auto &f : m)
			if (f.hasFnAttribute(Attribute::SanitizeThread))
				for (auto &block : f)
					for (auto &i : block)
						if (auto *call = dyn_cast<CallInst>(&i))
							if (const char *name = watched_name(*call))
								found.push_back({call, name});
		for (auto &each : found)
			replace(m, *each.first, each.second);
		return found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
	}
	static bool isRequired() { return true; }
};

// Other functions of the C library that access memory for their caller: __wrap_NAME tells what.
struct Strings : PassInfoMixin<Strings> {
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &)
	{
#define X(name) #name,
		static const StringSet<> names = {AM_STRING_FUNCTIONS(X) AM_CONTAINER_FUNCTIONS(X)};
#undef X
		bool changed = false;
		for (auto &f : m)
			if (f.hasFnAttribute(Attribute::SanitizeThread))
				for (auto &block : f)
					for (auto &i : block)
						changed |= redirect(m, i, names);
		return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
	}

	static bool redirect(Module &m, Instruction &i, const StringSet<> &names)
	{
		auto *call = dyn_cast<CallBase>(&i);
		auto *callee = call ? call->getCalledFunction() : nullptr;
		if (!callee || !callee->isDeclaration() || !names.count(callee->getName()))
			return false;
		auto to = m.getOrInsertFunction(("__wrap_" + callee->getName()).str(),
						callee->getFunctionType());
		call->setCalledFunction(to);
		return true;
	}
	static bool isRequired() { return true; }
};

// Counters of coverage and profiling are the compiler's, not the program's; for ThreadSanitizer's sake they
// are updated atomically, and watched updates would order all threads that come by the same line. They go
// into a function that is not watched.
struct Counters : PassInfoMixin<Counters> {
	DenseMap<FunctionType *, Function *> adders;

	static bool counts(const AtomicRMWInst &update)
	{
		const auto *g =
			dyn_cast<GlobalVariable>(update.getPointerOperand()->stripInBoundsOffsets());
		return g && update.use_empty() && update.getOperation() == AtomicRMWInst::Add &&
		       (atommon::begins(g->getName(), "__llvm_gcov") || g->getSection().contains("__llvm_prf"));
	}

	// The function that adds, one for each type of counter.
	Function *adder(Module &m, Type *pointer, Type *number)
	{
		auto *type = FunctionType::get(Type::getVoidTy(m.getContext()), {pointer, number}, false);
		auto *&f = adders[type];
		if (f)
			return f;
		f = Function::Create(type, GlobalValue::InternalLinkage, "atommon.count", &m);
		f->addFnAttr(Attribute::NoUnwind);
		f->addFnAttr(Attribute::DisableSanitizerInstrumentation);
		IRBuilder<> b(BasicBlock::Create(m.getContext(), "", f));
		b.CreateAtomicRMW(AtomicRMWInst::Add, f->getArg(0), f->getArg(1), MaybeAlign(),
				  AtomicOrdering::Monotonic);
		b.CreateRetVoid();
		return f;
	}

	void move_out(Module &m, AtomicRMWInst &update)
	{
		auto *where = update.getPointerOperand(), *value = update.getValOperand();
		auto *call = CallInst::Create(adder(m, where->getType(), value->getType()), {where, value},
					      "", &update);
		call->setDebugLoc(update.getDebugLoc());
		update.eraseFromParent();
	}

	PreservedAnalyses run(Module &m, ModuleAnalysisManager &)
	{
		SmallVector<AtomicRMWInst *, 16> found;
		adders.clear();
		for (auto &f : m)
			if (f.hasFnAttribute(Attribute::SanitizeThread))
				for (auto &block : f)
					for (auto &i : block)
						if (auto *update = dyn_cast<AtomicRMWInst>(&i))
							if (counts(*update))
								found.push_back(update);
		for (auto *update : found)
			move_out(m, *update);
		return found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
	}
	static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return {LLVM_PLUGIN_API_VERSION, "atommon-twin", "1", [](PassBuilder &pb) {
			pb.registerPipelineStartEPCallback(
				[](ModulePassManager &mpm, auto) { mpm.addPass(Twin()); });
			pb.registerOptimizerLastEPCallback(
				[](ModulePassManager &mpm, auto level) {
					mpm.addPass(Counters());
					mpm.addPass(Copies());
					mpm.addPass(Strings());
					if (level.getSpeedupLevel() > 0)
						mpm.addPass(atommon::Inline());
				});
		}};
}
