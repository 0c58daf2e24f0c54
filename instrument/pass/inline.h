// The fast path of plain accesses in place of the calls that the sanitizer's pass makes for them: a hot loop of watched
// code keeps its registers, and calls nothing for what concerns nobody. What is put there is access.c, compiled
// beforehand. Outside loops, in loops that call other functions, and in very large functions, it is a call all the same, of a function that
// keeps registers, too: as fast as the same in line, since there is much less code. So it is where code is to be small. All stays as it was
// where nothing is optimised, and in functions with atomic or volatile accesses of which the library must ask the code around (answer.h).
// Used by the twin pass, behind the optimisers.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_INLINE_H
#define ATOMMON_PASS_INLINE_H

#include <cstdlib>
#include <string>

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include "atommon/inlined.h"
#include "instrument/pass/answer.h"
#include "instrument/pass/begins.h"
#include "instrument/pass/entry.h"

namespace atommon
{

using namespace llvm;

// access.c as bitcode of the oldest LLVM that we know; newer ones read it too.
alignas(4) const unsigned char access_bitcode[] = {
#include "access.inc"
};

struct Inline : PassInfoMixin<Inline> {
	// In one function; beyond, too much of the time would go into allocating registers.
	static constexpr size_t max_inlined = 1000;

	struct Site {
		CallInst *call;
		std::string access; // as in read4
		bool is_often;	    // more often than the function is called, in a loop that calls nobody
		std::string name() const { return (is_often ? "__atommon_inline_" : "__atommon_call_") + access; }
	};

	// Callback -> access.
	static StringMap<std::string> make_names()
	{
		StringMap<std::string> names;
#define X(kind, size, writes) names["__tsan_" #kind #size] = names["__tsan_unaligned_" #kind #size] = #kind #size;
		AM_FAST_ACCESSES(X)
#undef X
		names["__tsan_vptr_read"] = "read8";
		return names;
	}

	// For tests: to see that the calls would have done the same.
	static bool is_wanted(const Module &m)
	{
		const char *off = getenv("ATOMMON_CC_CALLS");
		const std::string triple(m.getTargetTriple());
		return !(off && *off) && triple.compare(0, 6, "x86_64") == 0 &&
		       m.getDataLayout().getPointerSizeInBits() == 64;
	}

	// Does a loop call anything but what watches it? Then the calls take the registers anyway, and their code the time.
	static bool calls_others(const Loop &loop)
	{
		for (auto *block : loop.blocks())
			for (auto &i : *block) {
				auto *call = dyn_cast<CallBase>(&i);
				if (!call || isa<IntrinsicInst>(call) || call->isInlineAsm())
					continue;
				auto *callee = call->getCalledFunction();
				if (!callee || !(begins(callee->getName(), "__tsan_") || begins(callee->getName(), "__atommon_")))
					return true;
			}
		return false;
	}

	static void collect(Function &f, FunctionAnalysisManager &fam, SmallVectorImpl<Site> &sites,
			    SmallVectorImpl<Function *> &entered)
	{
		static const StringMap<std::string> names = make_names();
		const size_t before = sites.size();
		size_t n = 0;
		fam.invalidate(f, PreservedAnalyses::none());
		const auto &loops = fam.getResult<LoopAnalysis>(f);
		if (!put_answers(f, loops))
			return;
		// Into one whose code is asked, when the whole program is optimised.
		if (!f.hasFnAttribute(Attribute::AlwaysInline))
			f.addFnAttr(Attribute::NoInline);
		entered.push_back(&f);
		const auto &times = fam.getResult<BlockFrequencyAnalysis>(f);
		for (auto &block : f) {
			const Loop *loop = loops.getLoopFor(&block);
			const bool is_often = loop && !f.hasOptSize() && times.getBlockFreq(&block) > times.getBlockFreq(&f.getEntryBlock()) && !calls_others(*loop);
			for (auto &i : block) {
				auto *call = dyn_cast<CallInst>(&i);
				auto *callee = call ? call->getCalledFunction() : nullptr;
				const auto found = callee ? names.find(callee->getName()) : names.end();
				if (found == names.end())
					continue;
				sites.push_back({call, found->second, is_often});
				n += is_often;
			}
		}
		for (size_t i = before; n > max_inlined && i < sites.size(); i++)
			sites[i].is_often = false;
	}

	// access.c, as far as it is called.
	static bool bring(Module &m)
	{
		const StringRef bytes(reinterpret_cast<const char *>(access_bitcode), sizeof access_bitcode);
		auto read = parseBitcodeFile(MemoryBufferRef(bytes, "atommon"), m.getContext());
		if (!read) {
			consumeError(read.takeError());
			return false;
		}
		Module &from = **read;
		from.setTargetTriple(m.getTargetTriple());
		from.setDataLayout(m.getDataLayout());
		// How it was compiled is not how the program is.
		while (!from.named_metadata_empty())
			from.eraseNamedMetadata(&*from.named_metadata_begin());
		return !Linker::linkModules(m, std::move(*read), Linker::Flags::LinkOnlyNeeded);
	}

	// Two of the same could become one, which would have the line of either.
	static void tell_apart(Module &m, ArrayRef<Function *> changed)
	{
		SmallVector<CallInst *, 64> found;
		for (auto *f : changed)
			for (auto &block : *f)
				for (auto &i : block)
					if (auto *call = dyn_cast<CallInst>(&i); call && call->isInlineAsm())
						if (cast<InlineAsm>(call->getCalledOperand())->getAsmString() ==
						    "leaq 0(%rip), $0")
							found.push_back(call);
		auto *number = Type::getInt32Ty(m.getContext());
		unsigned n = 0;
		for (auto *call : found) {
			auto *type = FunctionType::get(call->getType(), {number}, false);
			auto *text = InlineAsm::get(type, "leaq 0(%rip), $0 # $1", "=r,i", true);
			auto *by = CallInst::Create(type, text, {ConstantInt::get(number, n++)}, "", call);
			by->setDebugLoc(call->getDebugLoc());
			by->addFnAttr(Attribute::NoUnwind);
			call->replaceAllUsesWith(by);
			call->eraseFromParent();
		}
	}

	static void put(Module &m, ArrayRef<Site> sites)
	{
		StringMap<Function *> brought;
		for (const auto &s : sites)
			brought[s.name()] = nullptr;
		for (auto &each : brought)
			m.getOrInsertFunction(each.getKey(), sites[0].call->getFunctionType());
		const bool is_there = bring(m);
		for (auto &each : brought)
			each.second = m.getFunction(each.getKey());
		SmallSetVector<Function *, 32> changed;
		// The last of a block first: what comes behind is moved to a new one each time.
		for (size_t i = sites.size(); is_there && i-- > 0;) {
			InlineFunctionInfo info;
			changed.insert(sites[i].call->getFunction());
			sites[i].call->setCalledFunction(brought[sites[i].name()]);
			InlineFunction(*sites[i].call, info);
		}
		tell_apart(m, changed.getArrayRef());
		for (auto &each : brought)
			each.second->eraseFromParent();
	}

	PreservedAnalyses run(Module &m, ModuleAnalysisManager &mam)
	{
		SmallVector<Site, 64> sites;
		SmallVector<Function *, 64> entered;
		bool has_changed = false;
		if (!is_wanted(m))
			return PreservedAnalyses::all();
		auto &fam = mam.getResult<FunctionAnalysisManagerModuleProxy>(m).getManager();
		for (auto &f : m) {
			if (f.isDeclaration() || !f.hasFnAttribute(Attribute::SanitizeThread) || f.hasOptNone())
				continue;
			// The compiler would do it behind us.
			ThreadSanitizerPass().run(f, fam);
			f.addFnAttr(Attribute::DisableSanitizerInstrumentation);
			collect(f, fam, sites, entered);
			has_changed = true;
		}
		if (!sites.empty())
			put(m, sites);
		for (auto *f : entered)
			ask_once(*f);
		return has_changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
	}
	static bool isRequired() { return true; }
};

} // namespace atommon

#endif
