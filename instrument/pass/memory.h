// Loads, stores, atomics and copies of memory: each becomes a call that performs it, logs it with its value, and gives a
// read a node of its own. Used by the symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_MEMORY_H
#define ATOMMON_PASS_MEMORY_H

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"

#include "instrument/pass/marker.h"
#include "instrument/pass/nodes.h"
#include "instrument/pass/wide.h"

namespace atommon
{

class Memory {
	Nodes &nodes;
	Runtime &rt;
	const DataLayout &layout;
	DenseMap<Value *, Value *> exchanged; // result of a compare-and-swap -> node of the old value

	static unsigned order_meta(AtomicOrdering o)
	{
		if (o == AtomicOrdering::NotAtomic)
			return 0;
		return (1 + unsigned(toCABI(o))) << AM_SYM_ORDER_SHIFT;
	}

	// An atomic of 128 bits: its inputs are pinned, its result is nobody's symbol.
	bool is_done_wide(Instruction &i, Value *at)
	{
		IRBuilder<> b(&i);
		if (!i.isAtomic())
			return false;
		nodes.pin(b, at);
		auto *by = perform_wide(b, rt, i);
		if (!by)
			return false;
		if (i.getType()->isVoidTy())
			i.eraseFromParent();
		else
			nodes.replace(i, by, nullptr);
		return true;
	}

	// writes: 0 reads, 1 writes, 2 both in one step
	void range(Instruction &i, Value *at, uint64_t bytes, unsigned writes)
	{
		IRBuilder<> b(&i);
		rt.call(b, "__atommon_sym_range", rt.nothing,
			{rt.raw(b, at), b.getInt64(bytes), rt.number(b, writes), nodes.of(at)});
	}

	static bool never_changes(const Value *at)
	{
		const auto *g = dyn_cast<GlobalVariable>(getUnderlyingObject(at));
		return g && g->isConstant();
	}

	void pin_value(Instruction &i, Value *v)
	{
		IRBuilder<> b(&i);
		nodes.pin(b, v);
	}

public:
	Memory(Nodes &n, const DataLayout &l) : nodes(n), rt(n.rt), layout(l) {}

	void load(LoadInst &i)
	{
		const int code = access_code(i.getType());
		auto *at = i.getPointerOperand();
		if (is_marker(at) || (never_changes(at) && !i.isVolatile())) {
			pin_value(i, at);
			return;
		}
		if (code < 0) {
			if (is_done_wide(i, at))
				return;
			range(i, at, layout.getTypeStoreSize(i.getType()), 0);
			return;
		}
		IRBuilder<> b(&i);
		unsigned meta = unsigned(code) | order_meta(i.getOrdering());
		meta |= i.isVolatile() ? AM_SYM_VOLATILE : 0;
		meta |= width_of(i.getType()) ? 0 : AM_SYM_PLAIN;
		auto *r = rt.call(b, "__atommon_sym_load", rt.pair,
				  {rt.raw(b, at), rt.number(b, meta), nodes.of(at)});
		auto *v = from_64(b, b.CreateExtractValue(r, 0), i.getType());
		auto *n = width_of(i.getType()) ? b.CreateExtractValue(r, 1) : nullptr;
		nodes.replace(i, v, n);
	}

	void store(StoreInst &i)
	{
		auto *v = i.getValueOperand(), *at = i.getPointerOperand();
		const int code = access_code(v->getType());
		if (is_marker(at)) {
			pin_value(i, v);
			return;
		}
		if (code < 0) {
			pin_value(i, v);
			if (is_done_wide(i, at))
				return;
			range(i, at, layout.getTypeStoreSize(v->getType()), 1);
			return;
		}
		IRBuilder<> b(&i);
		const unsigned meta = unsigned(code) | order_meta(i.getOrdering()) |
				      (i.isVolatile() ? AM_SYM_VOLATILE : 0);
		rt.call(b, "__atommon_sym_store", rt.nothing,
			{rt.raw(b, at), to_64(b, v), rt.number(b, meta), nodes.of(v), nodes.of(at)});
		i.eraseFromParent();
	}

	void update(AtomicRMWInst &i)
	{
		auto *v = i.getValOperand(), *at = i.getPointerOperand();
		const int code = access_code(v->getType());
		if (code < 0 || !width_of(v->getType()) || i.getOperation() > AtomicRMWInst::UMin) {
			pin_value(i, v);
			if (is_done_wide(i, at))
				return;
			range(i, at, layout.getTypeStoreSize(v->getType()), 2);
			return;
		}
		IRBuilder<> b(&i);
		const unsigned meta = unsigned(code) | order_meta(i.getOrdering());
		auto *r = rt.call(b, "__atommon_sym_update", rt.pair,
				  {rt.raw(b, at), to_64(b, v), rt.number(b, meta),
				   rt.number(b, i.getOperation()), nodes.of(v), nodes.of(at)});
		auto *old = from_64(b, b.CreateExtractValue(r, 0), i.getType());
		nodes.replace(i, old, b.CreateExtractValue(r, 1));
	}

	void exchange(AtomicCmpXchgInst &i)
	{
		auto *at = i.getPointerOperand(), *e = i.getCompareOperand(), *d = i.getNewValOperand();
		const int code = access_code(e->getType());
		if (code < 0) {
			pin_value(i, e);
			pin_value(i, d);
			if (is_done_wide(i, at))
				return;
			range(i, at, layout.getTypeStoreSize(e->getType()), 2);
			return;
		}
		IRBuilder<> b(&i);
		const unsigned meta = unsigned(code) | order_meta(i.getSuccessOrdering());
		auto *r = rt.call(b, "__atommon_sym_cas", rt.pair,
				  {rt.raw(b, at), to_64(b, e), to_64(b, d), rt.number(b, meta),
				   nodes.of(e), nodes.of(d), nodes.of(at)});
		auto *old64 = b.CreateExtractValue(r, 0);
		auto *old = from_64(b, old64, e->getType());
		auto *done = b.CreateICmpEQ(old64, to_64(b, e));
		Value *both = b.CreateInsertValue(PoisonValue::get(i.getType()), old, 0);
		both = b.CreateInsertValue(both, done, 1);
		exchanged[both] = b.CreateExtractValue(r, 1);
		nodes.replace(i, both, nullptr);
	}

	void extract(ExtractValueInst &i)
	{
		const auto found = exchanged.find(i.getAggregateOperand());
		if (found != exchanged.end() && i.getNumIndices() == 1 && i.getIndices()[0] == 0)
			nodes.set(&i, found->second);
	}

	// Copies and sets of memory; false: i is neither.
	bool copy(IntrinsicInst &i)
	{
		IRBuilder<> b(&i);
		if (auto *copy = dyn_cast<MemTransferInst>(&i)) {
			nodes.pin(b, copy->getLength());
			nodes.pin(b, copy->getRawDest());
			nodes.pin(b, copy->getRawSource());
			rt.call(b, "__atommon_sym_copy", rt.nothing,
				{rt.raw(b, copy->getRawDest()), rt.raw(b, copy->getRawSource()),
				 b.CreateZExtOrTrunc(copy->getLength(), rt.i64)});
			i.eraseFromParent();
			return true;
		}
		auto *set = dyn_cast<MemSetInst>(&i);
		if (!set)
			return false;
		nodes.pin(b, set->getLength());
		nodes.pin(b, set->getRawDest());
		rt.call(b, "__atommon_sym_set", rt.nothing,
			{rt.raw(b, set->getRawDest()), b.CreateZExt(set->getValue(), rt.i32),
			 b.CreateZExtOrTrunc(set->getLength(), rt.i64), nodes.of(set->getValue())});
		i.eraseFromParent();
		return true;
	}

	void fence(FenceInst &i)
	{
		IRBuilder<> b(&i);
		rt.call(b, "__atommon_sym_fence", rt.nothing,
			{rt.number(b, 1 + unsigned(toCABI(i.getOrdering())))});
	}
};

} // namespace atommon

#endif
