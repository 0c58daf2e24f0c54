// What the side of a branch that was not taken might have written, and where the two sides meet
// again (pruning in schedule exploration needs both). A static over-approximation: global
// variables by name, everything else as "unknown". Used by the symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_SIDES_H
#define ATOMMON_PASS_SIDES_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace atommon
{

using namespace llvm;

class Sides {
	Module &m;
	const DataLayout &layout;

	struct Writes {
		SetVector<std::pair<GlobalVariable *, std::pair<uint64_t, uint64_t>>> places;
		bool unknown = false;
	};
	DenseMap<Function *, Writes> summary;

	void add_store(Writes &w, Value *pointer, uint64_t size)
	{
		int64_t offset = 0;
		auto *base = GetPointerBaseWithConstantOffset(pointer, offset, layout);
		if (auto *g = dyn_cast<GlobalVariable>(base)) {
			if (!g->isThreadLocal())
				w.places.insert({g, {uint64_t(offset), size}});
			return;
		}
		base = const_cast<Value *>(getUnderlyingObject(pointer));
		if (isa<AllocaInst>(base))
			return;
		if (auto *g = dyn_cast<GlobalVariable>(base)) {
			if (!g->isThreadLocal() && g->getValueType()->isSized())
				w.places.insert({g, {0, layout.getTypeAllocSize(g->getValueType())}});
			else
				w.unknown = true;
			return;
		}
		w.unknown = true;
	}

	void add_call(Writes &w, CallBase &call, unsigned depth)
	{
		if (call.onlyReadsMemory() || call.doesNotAccessMemory())
			return;
		if (auto *copy = dyn_cast<AnyMemIntrinsic>(&call)) {
			auto *n = dyn_cast<ConstantInt>(copy->getLength());
			if (n)
				add_store(w, copy->getRawDest(), n->getZExtValue());
			else
				w.unknown = true;
			return;
		}
		if (isa<IntrinsicInst>(call))
			return;
		auto *f = call.getCalledFunction();
		if (!f || f->isDeclaration() || f->isInterposable() || depth == 0) {
			w.unknown = true;
			return;
		}
		const Writes &inner = of_function(*f, depth - 1);
		w.unknown |= inner.unknown;
		w.places.insert(inner.places.begin(), inner.places.end());
	}

	void add_block(Writes &w, BasicBlock &block, unsigned depth)
	{
		for (auto &i : block) {
			if (auto *s = dyn_cast<StoreInst>(&i))
				add_store(w, s->getPointerOperand(),
					  layout.getTypeStoreSize(s->getValueOperand()->getType()));
			else if (auto *u = dyn_cast<AtomicRMWInst>(&i))
				add_store(w, u->getPointerOperand(),
					  layout.getTypeStoreSize(u->getValOperand()->getType()));
			else if (auto *c = dyn_cast<AtomicCmpXchgInst>(&i))
				add_store(w, c->getPointerOperand(),
					  layout.getTypeStoreSize(c->getNewValOperand()->getType()));
			else if (auto *call = dyn_cast<CallBase>(&i))
				add_call(w, *call, depth);
		}
	}

	Writes of_function(Function &f, unsigned depth)
	{
		const auto found = summary.find(&f);
		if (found != summary.end())
			return found->second;
		Writes w;
		for (auto &block : f)
			add_block(w, block, depth);
		return summary[&f] = w;
	}

	Constant *constant(const Writes &w, unsigned line)
	{
		auto &c = m.getContext();
		auto *i32 = Type::getInt32Ty(c), *i64 = Type::getInt64Ty(c), *i8 = Type::getInt8Ty(c);
		auto *pointer = PointerType::get(i8, 0);
		auto *entry = StructType::get(c, {pointer, i64});
		SmallVector<Constant *, 8> entries;
		for (const auto &p : w.places) {
			auto *at = ConstantExpr::getPointerBitCastOrAddrSpaceCast(p.first, pointer);
			at = ConstantExpr::getInBoundsGetElementPtr(
				i8, at, ConstantInt::get(i64, p.second.first));
			entries.push_back(ConstantStruct::get(
				entry, {at, ConstantInt::get(i64, p.second.second)}));
		}
		auto *array = ArrayType::get(entry, entries.size());
		auto *type = StructType::get(c, {i32, i32, i32, i32, array});
		auto *value = ConstantStruct::get(
			type, {ConstantInt::get(i32, entries.size()), ConstantInt::get(i32, w.unknown),
			       ConstantInt::get(i32, line), ConstantInt::get(i32, 0),
			       ConstantArray::get(array, entries)});
		auto *g = new GlobalVariable(m, type, true, GlobalValue::PrivateLinkage, value,
					     "atommon.side");
		return ConstantExpr::getPointerBitCastOrAddrSpaceCast(g, pointer);
	}

	static unsigned line_of(BasicBlock *block)
	{
		if (block)
			for (auto &i : *block)
				if (i.getDebugLoc() && i.getDebugLoc().getLine())
					return i.getDebugLoc().getLine();
		return 0;
	}

public:
	explicit Sides(Module &module) : m(module), layout(module.getDataLayout()) {}

	// The blocks from which `from` reaches `merge`: what may run on that side.
	Constant *of_side(BasicBlock &from, BasicBlock *merge)
	{
		Writes w;
		SmallPtrSet<BasicBlock *, 16> seen;
		SmallVector<BasicBlock *, 16> todo{&from};
		while (!todo.empty()) {
			auto *block = todo.pop_back_val();
			if (block == merge || !seen.insert(block).second)
				continue;
			add_block(w, *block, 3);
			todo.append(succ_begin(block), succ_end(block));
		}
		return constant(w, line_of(merge));
	}

	static BasicBlock *merge_of(BasicBlock &block, const PostDominatorTree &tree)
	{
		auto *node = tree.getNode(&block);
		return node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
	}
};

} // namespace atommon

#endif
