// What the side of a branch that was not taken might have written, and where the two sides meet again: the write-variables and
// the merging point of Wang, Chaudhuri, Gupta and Yang (FSE 2009), section 5.1. A static over-approximation: global
// variables by name, everything else as "unknown"; an assertion that may fail counts as their variable assert_fail does. Looks at
// functions as they were before the pass changed any. Used by the symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_SIDES_H
#define ATOMMON_PASS_SIDES_H

#include <map>
#include <tuple>
#include <vector>

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include "atommon/symbolic.h"
#include "instrument/pass/marker.h"

namespace atommon
{

using namespace llvm;

// A function that ends the program because an assertion does not hold.
inline bool is_failure(const CallBase &call)
{
	const auto *f = call.getCalledFunction();
	return f && (f->getName() == "__assert_fail" || f->getName() == "__assert_perror_fail" ||
		     f->getName() == "__assert");
}

// What code may write: each place a global variable, offset and size.
struct Writes {
	static constexpr size_t max_places = 32;

	SetVector<std::pair<GlobalVariable *, std::pair<uint64_t, uint64_t>>> places;
	unsigned others = 0; // AM_SYM_SIDE_...

	void add(GlobalVariable *g, uint64_t offset, uint64_t size)
	{
		if (places.size() < max_places)
			places.insert({g, {offset, size}});
		else if (!places.count({g, {offset, size}}))
			others |= AM_SYM_SIDE_UNKNOWN;
	}
	void add(const Writes &more)
	{
		others |= more.others;
		for (const auto &p : more.places)
			add(p.first, p.second.first, p.second.second);
	}
};

class Sides {
	Module &m;
	const DataLayout &layout;

	struct Summary {
		Writes writes;
		SetVector<Function *> callees;
	};
	DenseMap<Function *, Summary> own; // of the function's own code
	DenseMap<Function *, Writes> whole; // and of all that it calls
	using Key = std::tuple<std::vector<std::tuple<GlobalVariable *, uint64_t, uint64_t>>, unsigned, unsigned>;
	std::map<Key, Constant *> made;

	static bool is_lent(const Value *local) { return PointerMayBeCaptured(local, true, true); }

	// The thread-local variable of this file alone that `base` is the address of, or nullptr. Newer LLVM asks for it.
	static const GlobalVariable *own_variable(const Value *base)
	{
#if LLVM_VERSION_MAJOR >= 15
		if (const auto *call = dyn_cast<IntrinsicInst>(base))
			if (call->getIntrinsicID() == Intrinsic::threadlocal_address)
				base = call->getArgOperand(0);
#endif
		const auto *g = dyn_cast<GlobalVariable>(base);
		return g && g->isThreadLocal() && g->hasLocalLinkage() ? g : nullptr;
	}

	static bool is_own_lent(const GlobalVariable &g)
	{
#if LLVM_VERSION_MAJOR >= 15
		for (const auto *user : g.users()) {
			const auto *call = dyn_cast<IntrinsicInst>(user);
			if (!call || call->getIntrinsicID() != Intrinsic::threadlocal_address || is_lent(call))
				return true;
		}
		return false;
#else
		return is_lent(&g);
#endif
	}

	void add_store(Writes &w, const Value *pointer, uint64_t size)
	{
		int64_t offset = 0;
		auto *base = const_cast<Value *>(GetPointerBaseWithConstantOffset(pointer, offset, layout));
		auto *g = dyn_cast<GlobalVariable>(base);
		if (g && !g->isThreadLocal()) {
			w.add(g, uint64_t(offset), size);
			return;
		}
		base = const_cast<Value *>(getUnderlyingObject(pointer));
		g = dyn_cast<GlobalVariable>(base);
		if (g && !g->isThreadLocal() && g->getValueType()->isSized())
			w.add(g, 0, layout.getTypeAllocSize(g->getValueType()));
		else if (const auto *mine = own_variable(base); mine && !is_own_lent(*mine))
			return;
		else if (isa<AllocaInst>(base) && (is_marker(base) || !is_lent(base)))
			return;
		else
			w.others |= AM_SYM_SIDE_UNKNOWN;
	}

	void add_intrinsic(Writes &w, const IntrinsicInst &call)
	{
		switch (call.getIntrinsicID()) {
		case Intrinsic::lifetime_start:
		case Intrinsic::lifetime_end:
		case Intrinsic::vastart:
		case Intrinsic::vaend:
		case Intrinsic::vacopy:
		case Intrinsic::stackrestore:
		case Intrinsic::trap:
		case Intrinsic::prefetch: return;
		default: break;
		}
		const auto *copy = dyn_cast<AnyMemIntrinsic>(&call);
		const auto *n = copy ? dyn_cast<ConstantInt>(copy->getLength()) : nullptr;
		if (n)
			add_store(w, copy->getRawDest(), n->getZExtValue());
		else if (call.mayWriteToMemory() && !call.onlyAccessesInaccessibleMemory())
			w.others |= AM_SYM_SIDE_UNKNOWN;
	}

	void add_call(Summary &s, CallBase &call)
	{
		if (call.onlyReadsMemory() || call.doesNotAccessMemory())
			return;
		if (const auto *intrinsic = dyn_cast<IntrinsicInst>(&call)) {
			add_intrinsic(s.writes, *intrinsic);
			return;
		}
		auto *f = call.getCalledFunction();
		if (is_failure(call))
			s.writes.others |= AM_SYM_SIDE_ASSERT;
		else if (f && begins(f->getName(), "atommon_"))
			return;
		else if (!f || f->isDeclaration() || f->isInterposable())
			s.writes.others |= AM_SYM_SIDE_UNKNOWN;
		else
			s.callees.insert(f);
	}

	void add_block(Summary &s, BasicBlock &block)
	{
		const auto size = [&](const Value *v) { return uint64_t(layout.getTypeStoreSize(v->getType())); };
		for (auto &i : block) {
			if (auto *st = dyn_cast<StoreInst>(&i))
				add_store(s.writes, st->getPointerOperand(), size(st->getValueOperand()));
			else if (auto *u = dyn_cast<AtomicRMWInst>(&i))
				add_store(s.writes, u->getPointerOperand(), size(u->getValOperand()));
			else if (auto *c = dyn_cast<AtomicCmpXchgInst>(&i))
				add_store(s.writes, c->getPointerOperand(), size(c->getNewValOperand()));
			else if (auto *call = dyn_cast<CallBase>(&i))
				add_call(s, *call);
			else if (isa<VAArgInst>(i))
				s.writes.others |= AM_SYM_SIDE_UNKNOWN;
		}
	}

	const Summary &own_of(Function &f)
	{
		const auto found = own.find(&f);
		if (found != own.end())
			return found->second;
		Summary s;
		for (auto &block : f)
			add_block(s, block);
		return own[&f] = s;
	}

	// Recursion ends where all that can be called has been seen.
	const Writes &whole_of(Function &f)
	{
		const auto found = whole.find(&f);
		if (found != whole.end())
			return found->second;
		Writes w;
		SetVector<Function *> called;
		called.insert(&f);
		for (size_t i = 0; i < called.size(); i++) {
			const Summary &s = own_of(*called[i]);
			w.add(s.writes);
			called.insert(s.callees.begin(), s.callees.end());
		}
		return whole[&f] = w;
	}

public:
	explicit Sides(Module &module) : m(module), layout(module.getDataLayout()) {}

	// The blocks from which `from` reaches `merge`: what may run on that side.
	Writes of_side(BasicBlock &from, BasicBlock *merge)
	{
		Summary s;
		SmallPtrSet<BasicBlock *, 16> seen;
		SmallVector<BasicBlock *, 16> todo{&from};
		while (!todo.empty()) {
			auto *block = todo.pop_back_val();
			if (block == merge || !seen.insert(block).second)
				continue;
			add_block(s, *block);
			todo.append(succ_begin(block), succ_end(block));
		}
		for (auto *f : s.callees)
			s.writes.add(whole_of(*f));
		return s.writes;
	}

	// The line at which a block begins; 0: none.
	static unsigned line_of(const BasicBlock *block)
	{
		for (unsigned n = 0; block && n < 8; n++, block = block->getUniqueSuccessor())
			for (auto &i : *block)
				if (!isa<DbgInfoIntrinsic>(i) && i.getDebugLoc() && i.getDebugLoc().getLine())
					return i.getDebugLoc().getLine();
		return 0;
	}

	// As the runtime reads it (struct am_sym_side).
	Constant *constant(const Writes &w, unsigned line)
	{
		Key key{{}, w.others, line};
		for (const auto &p : w.places)
			std::get<0>(key).push_back({p.first, p.second.first, p.second.second});
		auto *&known = made[key];
		if (known)
			return known;
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
			type, {ConstantInt::get(i32, entries.size()), ConstantInt::get(i32, w.others),
			       ConstantInt::get(i32, line), ConstantInt::get(i32, 0),
			       ConstantArray::get(array, entries)});
		auto *g = new GlobalVariable(m, type, true, GlobalValue::PrivateLinkage, value,
					     "atommon.side");
		return known = ConstantExpr::getPointerBitCastOrAddrSpaceCast(g, pointer);
	}
};

} // namespace atommon

#endif
