// The symbolic pass: reads with their value and a fresh symbol, writes with value and expression,
// branch and assertion conditions, pins (include/atommon/symbolic.h, include/atommon/expr.h). Runs
// inside clang as a pass plugin, at the start of the pipeline, so that the accesses are those of the
// source; only locals whose address nobody takes have been put into registers before.
//
// SPDX-License-Identifier: MIT
#include <deque>

#include "llvm/ADT/StringSet.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

#include "atommon/strings.h"
#include "instrument/pass/follow.h"
#include "instrument/pass/twin.h"

using namespace llvm;

namespace
{

bool wanted(const Function &f)
{
	return !f.isDeclaration() && !f.hasAvailableExternallyLinkage() &&
	       !f.hasFnAttribute(Attribute::Naked) &&
	       !f.hasFnAttribute(Attribute::DisableSanitizerInstrumentation) &&
	       !atommon::begins(f.getName(), "__atommon") && !atommon::begins(f.getName(), "atommon_");
}

// Callers in other files, and callers through pointers, find out at run time who is instrumented.
void add_registration(Module &m, atommon::Runtime &rt, ArrayRef<Function *> functions)
{
	SmallVector<Constant *, 32> table;
	for (auto *f : functions)
		if (!f->hasLocalLinkage() || f->hasAddressTaken())
			table.push_back(ConstantExpr::getPointerBitCastOrAddrSpaceCast(f, rt.pointer));
	if (table.empty())
		return;
	auto *type = ArrayType::get(rt.pointer, table.size());
	auto *array = new GlobalVariable(m, type, true, GlobalValue::PrivateLinkage,
					 ConstantArray::get(type, table), "atommon.functions");
	auto *ctor = Function::Create(FunctionType::get(rt.nothing, false), GlobalValue::InternalLinkage,
				      "__atommon_sym_module", m);
	IRBuilder<> b(BasicBlock::Create(m.getContext(), "", ctor));
	rt.call(b, "__atommon_sym_register", rt.nothing,
		{rt.raw(b, array), b.getInt64(table.size())});
	b.CreateRetVoid();
	appendToGlobalCtors(m, ctor, 0);
}

// Functions of the C library that read memory for their caller: __wrap_NAME tells what.
void redirect_readers(Module &m, Function &f)
{
#define X(name) #name,
	static const StringSet<> names = {AM_READING_FUNCTIONS(X)};
#undef X
	for (auto &block : f)
		for (auto &i : block) {
			auto *call = dyn_cast<CallBase>(&i);
			auto *callee = call ? call->getCalledFunction() : nullptr;
			if (callee && callee->isDeclaration() && names.count(callee->getName()))
				call->setCalledFunction(m.getOrInsertFunction(
					("__wrap_" + callee->getName()).str(), callee->getFunctionType()));
		}
}

struct Symbolic : PassInfoMixin<Symbolic> {
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &analyses)
	{
		// Some exist in no library (libstdc++ has many): naming them would leave a symbol open.
		analyses.invalidate(m, AlwaysInlinerPass(false).run(m, analyses));
		auto &fam = analyses.getResult<FunctionAnalysisManagerModuleProxy>(m).getManager();
		SmallVector<Function *, 32> all, twinned;
		for (auto &f : m)
			if (wanted(f)) {
				all.push_back(&f);
				if (atommon::can_have_twin(f))
					twinned.push_back(&f);
			}
		if (all.empty())
			return PreservedAnalyses::all();

		const auto twin = atommon::make_twins(m, twinned, false);
		DenseMap<Function *, Function *> identity;
		SmallVector<std::pair<Function *, Function *>, 32> work; // code, identity
		for (auto *f : all) {
			const auto found = twin.find(f);
			auto *code = found == twin.end() ? f : found->second;
			work.push_back({code, f});
			identity[code] = f;
			if (!f->isInterposable())
				identity[f] = f;
		}
		atommon::Runtime rt(m);
		atommon::Sides sides(m);
		for (auto &w : work) {
#if LLVM_VERSION_MAJOR >= 16
			SROAPass(SROAOptions::PreserveCFG).run(*w.first, fam);
#else
			SROAPass().run(*w.first, fam);
#endif
			fam.invalidate(*w.first, PreservedAnalyses::none());
		}
		std::deque<atommon::Follow> follow; // its parts know each other's places
		for (auto &w : work) {
			follow.emplace_back(*w.first, *w.second, identity, rt, sides);
			follow.back().look();
		}
		for (auto &w : work)
			redirect_readers(m, *w.first);
		for (auto &each : follow)
			each.run();
		for (auto &w : work)
			fam.invalidate(*w.first, PreservedAnalyses::none());
		add_registration(m, rt, all);
		return PreservedAnalyses::none();
	}
	static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return {LLVM_PLUGIN_API_VERSION, "atommon-symbolic", "1", [](PassBuilder &pb) {
			pb.registerPipelineStartEPCallback(
				[](ModulePassManager &mpm, auto) { mpm.addPass(Symbolic()); });
		}};
}
