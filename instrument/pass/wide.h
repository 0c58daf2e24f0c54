// Atomics of 128 bits: expressions cannot follow them, so they go through the functions that the
// sanitizer's own pass calls for them, which perform and log in one step. Used by the symbolic pass.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_WIDE_H
#define ATOMMON_PASS_WIDE_H

#include "instrument/pass/values.h"
#include "llvm/IR/Instructions.h"

namespace atommon
{

using namespace llvm;

inline bool is_wide(const Type *type)
{
	return type->isIntegerTy(128);
}

inline const char *wide_name(AtomicRMWInst::BinOp o)
{
	switch (o) {
	case AtomicRMWInst::Xchg: return "__tsan_atomic128_exchange";
	case AtomicRMWInst::Add: return "__tsan_atomic128_fetch_add";
	case AtomicRMWInst::Sub: return "__tsan_atomic128_fetch_sub";
	case AtomicRMWInst::And: return "__tsan_atomic128_fetch_and";
	case AtomicRMWInst::Or: return "__tsan_atomic128_fetch_or";
	case AtomicRMWInst::Xor: return "__tsan_atomic128_fetch_xor";
	case AtomicRMWInst::Nand: return "__tsan_atomic128_fetch_nand";
	default: return nullptr;
	}
}

// Puts the call before i and gives i's result, or nullptr if i is none of these.
inline Value *perform_wide(IRBuilder<> &b, Runtime &rt, Instruction &i)
{
	const auto order = [&](AtomicOrdering o) { return rt.number(b, unsigned(toCABI(o))); };

	if (auto *load = dyn_cast<LoadInst>(&i)) {
		if (!load->isAtomic() || !is_wide(load->getType()))
			return nullptr;
		return rt.call(b, "__tsan_atomic128_load", load->getType(),
			       {rt.raw(b, load->getPointerOperand()), order(load->getOrdering())});
	}
	if (auto *store = dyn_cast<StoreInst>(&i)) {
		auto *v = store->getValueOperand();
		if (!store->isAtomic() || !is_wide(v->getType()))
			return nullptr;
		return rt.call(b, "__tsan_atomic128_store", rt.nothing,
			       {rt.raw(b, store->getPointerOperand()), v, order(store->getOrdering())});
	}
	if (auto *update = dyn_cast<AtomicRMWInst>(&i)) {
		auto *v = update->getValOperand();
		const char *name = wide_name(update->getOperation());
		if (!name || !is_wide(v->getType()))
			return nullptr;
		return rt.call(b, name, v->getType(),
			       {rt.raw(b, update->getPointerOperand()), v, order(update->getOrdering())});
	}
	auto *cas = dyn_cast<AtomicCmpXchgInst>(&i);
	if (!cas || !is_wide(cas->getCompareOperand()->getType()))
		return nullptr;
	auto *expected = cas->getCompareOperand();
	auto *old = rt.call(b, "__tsan_atomic128_compare_exchange_val", expected->getType(),
			    {rt.raw(b, cas->getPointerOperand()), expected, cas->getNewValOperand(),
			     order(cas->getSuccessOrdering()), order(cas->getFailureOrdering())});
	auto *both = b.CreateInsertValue(PoisonValue::get(cas->getType()), old, 0);
	return b.CreateInsertValue(both, b.CreateICmpEQ(old, expected), 1);
}

} // namespace atommon

#endif
