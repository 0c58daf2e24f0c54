// Follows expressions through one function: every integer or pointer value gets a companion, the
// number of its expression node (0: it does not depend on a read). Values that expressions cannot
// follow pin what flows into them. Used by the symbolic pass only; the function's own meaning stays
// what it was.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_FOLLOW_H
#define ATOMMON_PASS_FOLLOW_H

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/InstVisitor.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/EscapeEnumerator.h"

#include "instrument/pass/begins.h"
#include "instrument/pass/sides.h"
#include "instrument/pass/values.h"
#include "instrument/pass/wide.h"

namespace atommon
{

class Follow : public InstVisitor<Follow> {
	Function &f;
	Function &identity; // the name under which callers know f
	const DenseMap<Function *, Function *> &known; // instrumented code -> identity
	Runtime &rt;
	Sides &sides;
	const DataLayout &layout;
	DenseMap<Value *, Value *> node;
	DenseMap<Value *, Value *> exchanged; // result of a compare-and-swap -> node of the old value
	SmallVector<std::pair<PHINode *, PHINode *>, 16> phis;
	DenseMap<Instruction *, SmallVector<Constant *, 2>> side;

	static constexpr unsigned max_params = 16, max_cases = 256;

	Value *zero() const { return ConstantInt::get(rt.i32, 0); }
	Value *node_of(Value *v) const
	{
		const auto found = node.find(v);
		return found == node.end() ? zero() : found->second;
	}
	bool follows(Value *v) const { return !isa<Constant>(node_of(v)); }

	// A value during the computation of an expression: 64 bits, its node, its width.
	struct Term {
		Value *value, *node;
		unsigned width;
	};
	Term term(IRBuilder<> &b, Value *v) const
	{
		return {to_64(b, v), node_of(v), width_of(v->getType())};
	}

	Value *op(IRBuilder<> &b, am_op o, unsigned width, const Term &x, const Term &y) const
	{
		if (isa<Constant>(x.node) && isa<Constant>(y.node))
			return zero();
		const unsigned what = unsigned(o) | width << 8 | x.width << 16;
		return rt.call(b, "__atommon_sym_op", rt.i32,
			       {rt.number(b, what), x.node, y.node, x.value, y.value});
	}
	Value *op(IRBuilder<> &b, am_op o, unsigned width, const Term &x) const
	{
		return op(b, o, width, x, {b.getInt64(0), zero(), x.width});
	}

	void pin(IRBuilder<> &b, Value *v) const
	{
		if (follows(v))
			rt.call(b, "__atommon_sym_pin", rt.nothing, {node_of(v), to_64(b, v)});
	}
	void pin_operands(Instruction &i) const
	{
		IRBuilder<> b(&i);
		for (auto &operand : i.operands())
			pin(b, operand);
	}

	void replace(Instruction &i, Value *by, Value *with_node)
	{
		i.replaceAllUsesWith(by);
		if (with_node)
			node[by] = with_node;
		i.eraseFromParent();
	}

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
		pin(b, at);
		auto *by = perform_wide(b, rt, i);
		if (!by)
			return false;
		if (i.getType()->isVoidTy())
			i.eraseFromParent();
		else
			replace(i, by, nullptr);
		return true;
	}

	// writes: 0 reads, 1 writes, 2 both in one step
	void range(Instruction &i, Value *at, uint64_t bytes, unsigned writes)
	{
		IRBuilder<> b(&i);
		rt.call(b, "__atommon_sym_range", rt.nothing,
			{rt.raw(b, at), b.getInt64(bytes), rt.number(b, writes), node_of(at)});
	}

public:
	Follow(Function &function, Function &id, const DenseMap<Function *, Function *> &all, Runtime &r,
	       Sides &s)
		: f(function), identity(id), known(all), rt(r), sides(s),
		  layout(function.getParent()->getDataLayout())
	{
	}

	void run()
	{
		PostDominatorTree tree(f);
		SmallVector<Instruction *, 128> todo;
		for (auto *block : ReversePostOrderTraversal<Function *>(&f))
			for (auto &i : *block)
				todo.push_back(&i);
		find_sides(tree);
		enter();
		for (auto *i : todo)
			visit(*i);
		for (auto &p : phis)
			for (unsigned i = 0; i < p.first->getNumIncomingValues(); i++)
				p.second->addIncoming(node_of(p.first->getIncomingValue(i)),
						      p.first->getIncomingBlock(i));
		EscapeEnumerator exits(f, "atommon.leave", true);
		while (auto *b = exits.Next())
			rt.call(*b, "__tsan_func_exit", rt.nothing, {});
	}

	// ---- function boundaries -----------------------------------------------------------------

	void enter()
	{
		IRBuilder<> b(&*f.getEntryBlock().getFirstInsertionPt());
		if (auto *where = f.getSubprogram())
			b.SetCurrentDebugLocation(
				DILocation::get(f.getContext(), where->getLine(), 0, where));
		auto *level = b.getInt32(0);
		auto *caller = b.CreateIntrinsic(Intrinsic::returnaddress, {}, {level});
		rt.call(b, "__tsan_func_entry", rt.nothing, {rt.raw(b, caller)});
		rt.call(b, "__atommon_sym_enter", rt.nothing, {rt.raw(b, &identity)});
		for (auto &a : f.args())
			if (width_of(a.getType()) && a.getArgNo() < max_params && !a.use_empty())
				node[&a] = rt.call(b, "__atommon_sym_param", rt.i32,
						   {rt.number(b, a.getArgNo())});
	}

	void visitReturnInst(ReturnInst &i)
	{
		auto *v = i.getReturnValue();
		auto *before = i.getPrevNode();
		if (auto *call = dyn_cast_or_null<CallInst>(before); call && call->isMustTailCall())
			return;
		IRBuilder<> b(&i);
		if (v && width_of(v->getType()))
			rt.call(b, "__atommon_sym_return", rt.nothing,
				{rt.raw(b, &identity), node_of(v)});
	}

	static bool has_own_events(StringRef name)
	{
		for (const char *prefix : {"pthread_", "sem_", "mtx_", "cnd_", "thrd_", "call_once",
					   "atommon_", "__atommon", "__tsan_", "__cxa_", "__assert_fail"})
			if (begins(name, prefix))
				return true;
		return false;
	}

	void visitCallBase(CallBase &i)
	{
		auto *callee = i.getCalledOperand()->stripPointerCasts();
		auto *direct = dyn_cast<Function>(callee);
		if (i.isInlineAsm()) {
			pin_operands(i);
			return;
		}
		if (direct && (begins(direct->getName(), "__atommon") ||
			       begins(direct->getName(), "__tsan_")))
			return;
		unsigned flags = 0;
		Value *id = callee;
		if (const auto found = known.find(direct); direct && found != known.end()) {
			flags |= AM_SYM_KNOWN;
			id = found->second;
		}
		if (direct && has_own_events(direct->getName()))
			flags |= AM_SYM_QUIET;
		IRBuilder<> b(&i);
		pin(b, i.getCalledOperand());
		rt.call(b, "__atommon_sym_call", rt.nothing, {rt.raw(b, id), rt.number(b, flags)});
		const unsigned fixed = i.getFunctionType()->getNumParams();
		for (unsigned n = 0; n < i.arg_size(); n++) {
			auto *a = i.getArgOperand(n);
			if (!follows(a))
				continue;
			if (n < max_params && n < fixed)
				rt.call(b, "__atommon_sym_arg", rt.nothing,
					{rt.number(b, n), node_of(a), to_64(b, a)});
			else
				pin(b, a);
		}
		if (!width_of(i.getType()) || i.isMustTailCall() || i.use_empty())
			return;
		Instruction *after = i.getNextNode();
		if (auto *invoke = dyn_cast<InvokeInst>(&i)) {
			auto *normal = invoke->getNormalDest();
			if (!normal->getSinglePredecessor())
				normal = SplitEdge(invoke->getParent(), normal);
			after = &*normal->getFirstInsertionPt();
		} else if (isa<CallBrInst>(i)) {
			return;
		}
		IRBuilder<> c(after);
		c.SetCurrentDebugLocation(i.getDebugLoc());
		node[&i] = rt.call(c, "__atommon_sym_result", rt.i32, {rt.raw(c, id)});
	}

	// ---- memory ------------------------------------------------------------------------------

	// The variable behind ATOMMON_REGION: only the loop that it makes, and our own functions, see it.
	static bool is_marker(const Value *at)
	{
		const auto *local = dyn_cast<AllocaInst>(getUnderlyingObject(at));
		if (!local)
			return false;
		SmallVector<const Value *, 8> todo{local};
		bool is_passed = false;
		while (!todo.empty())
			for (const auto *user : todo.pop_back_val()->users()) {
				if (isa<BitCastInst>(user) || isa<GetElementPtrInst>(user)) {
					todo.push_back(user);
					continue;
				}
				const auto *call = dyn_cast<CallBase>(user);
				if (!call || isa<IntrinsicInst>(user))
					continue;
				const auto *callee = call->getCalledFunction();
				if (!callee || !begins(callee->getName(), "atommon_"))
					return false;
				is_passed = true;
			}
		return is_passed;
	}
	static bool never_changes(const Value *at)
	{
		const auto *g = dyn_cast<GlobalVariable>(getUnderlyingObject(at));
		return g && g->isConstant();
	}

	void visitLoadInst(LoadInst &i)
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
				  {rt.raw(b, at), rt.number(b, meta), node_of(at)});
		auto *v = from_64(b, b.CreateExtractValue(r, 0), i.getType());
		auto *n = width_of(i.getType()) ? b.CreateExtractValue(r, 1) : nullptr;
		replace(i, v, n);
	}

	void visitStoreInst(StoreInst &i)
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
			{rt.raw(b, at), to_64(b, v), rt.number(b, meta), node_of(v), node_of(at)});
		i.eraseFromParent();
	}

	void pin_value(Instruction &i, Value *v)
	{
		IRBuilder<> b(&i);
		pin(b, v);
	}

	void visitAtomicRMWInst(AtomicRMWInst &i)
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
				   rt.number(b, i.getOperation()), node_of(v), node_of(at)});
		auto *old = from_64(b, b.CreateExtractValue(r, 0), i.getType());
		replace(i, old, b.CreateExtractValue(r, 1));
	}

	void visitAtomicCmpXchgInst(AtomicCmpXchgInst &i)
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
				   node_of(e), node_of(d), node_of(at)});
		auto *old64 = b.CreateExtractValue(r, 0);
		auto *old = from_64(b, old64, e->getType());
		auto *done = b.CreateICmpEQ(old64, to_64(b, e));
		Value *both = b.CreateInsertValue(PoisonValue::get(i.getType()), old, 0);
		both = b.CreateInsertValue(both, done, 1);
		exchanged[both] = b.CreateExtractValue(r, 1);
		replace(i, both, nullptr);
	}

	void visitExtractValueInst(ExtractValueInst &i)
	{
		const auto found = exchanged.find(i.getAggregateOperand());
		if (found != exchanged.end() && i.getNumIndices() == 1 && i.getIndices()[0] == 0)
			node[&i] = found->second;
	}

	void visitFenceInst(FenceInst &i)
	{
		IRBuilder<> b(&i);
		rt.call(b, "__atommon_sym_fence", rt.nothing,
			{rt.number(b, 1 + unsigned(toCABI(i.getOrdering())))});
	}

	void visitIntrinsicInst(IntrinsicInst &i)
	{
		IRBuilder<> b(&i);
		if (auto *copy = dyn_cast<MemTransferInst>(&i)) {
			pin(b, copy->getLength());
			pin(b, copy->getRawDest());
			pin(b, copy->getRawSource());
			rt.call(b, "__atommon_sym_copy", rt.nothing,
				{rt.raw(b, copy->getRawDest()), rt.raw(b, copy->getRawSource()),
				 b.CreateZExtOrTrunc(copy->getLength(), rt.i64)});
			i.eraseFromParent();
			return;
		}
		if (auto *set = dyn_cast<MemSetInst>(&i)) {
			pin(b, set->getLength());
			pin(b, set->getRawDest());
			rt.call(b, "__atommon_sym_set", rt.nothing,
				{rt.raw(b, set->getRawDest()), b.CreateZExt(set->getValue(), rt.i32),
				 b.CreateZExtOrTrunc(set->getLength(), rt.i64), node_of(set->getValue())});
			i.eraseFromParent();
			return;
		}
		switch (i.getIntrinsicID()) {
		case Intrinsic::expect:
			if (follows(i.getArgOperand(0)))
				node[&i] = node_of(i.getArgOperand(0));
			break;
		case Intrinsic::dbg_declare:
		case Intrinsic::dbg_value:
		case Intrinsic::dbg_label:
		case Intrinsic::lifetime_start:
		case Intrinsic::lifetime_end: break;
		default: pin_operands(i); break;
		}
	}

	// ---- control -----------------------------------------------------------------------------

	void find_sides(PostDominatorTree &tree)
	{
		for (auto &block : f) {
			auto *end = block.getTerminator();
			auto *merge = Sides::merge_of(block, tree);
			if (auto *br = dyn_cast<BranchInst>(end); br && br->isConditional()) {
				side[end].push_back(sides.of_side(*br->getSuccessor(0), merge));
				side[end].push_back(sides.of_side(*br->getSuccessor(1), merge));
			} else if (isa<SwitchInst>(end)) {
				side[end].push_back(sides.of_side(block, merge));
			}
		}
	}

	// assert(c) calls a function that does not return when c is false.
	static bool fails(const BasicBlock *block)
	{
		for (const auto &i : *block)
			if (const auto *call = dyn_cast<CallBase>(&i))
				if (const auto *callee = call->getCalledFunction())
					if (callee->getName() == "__assert_fail" ||
					    callee->getName() == "__assert_perror_fail" ||
					    callee->getName() == "__assert")
						return true;
		return false;
	}

	void visitBranchInst(BranchInst &i)
	{
		if (!i.isConditional() || !follows(i.getCondition()))
			return;
		IRBuilder<> b(&i);
		const bool asserts = fails(i.getSuccessor(0)) != fails(i.getSuccessor(1));
		const bool inverted = asserts && fails(i.getSuccessor(0));
		auto *c = i.getCondition();
		Value *n = node_of(c), *outcome = b.CreateZExt(c, rt.i32);
		if (inverted) { // the asserted condition is the negation
			n = op(b, AM_OP_NOT, 1, term(b, c));
			outcome = b.CreateXor(outcome, 1);
		}
		if (asserts)
			outcome = b.CreateOr(outcome, AM_SYM_ASSERT);
		const auto &s = side[&i];
		auto *not_taken = b.CreateSelect(c, s[1], s[0]);
		rt.call(b, "__atommon_sym_branch", rt.nothing, {n, outcome, not_taken});
	}

	void visitSwitchInst(SwitchInst &i)
	{
		auto *c = i.getCondition();
		if (!follows(c))
			return;
		IRBuilder<> b(&i);
		if (i.getNumCases() > max_cases) {
			pin(b, c);
			return;
		}
		SmallVector<uint64_t, 16> values;
		for (auto &each : i.cases())
			values.push_back(each.getCaseValue()->getZExtValue());
		auto *data = ConstantDataArray::get(f.getContext(), values);
		auto *table = new GlobalVariable(*f.getParent(), data->getType(), true,
						 GlobalValue::PrivateLinkage, data, "atommon.cases");
		rt.call(b, "__atommon_sym_switch", rt.nothing,
			{node_of(c), to_64(b, c), rt.number(b, width_of(c->getType())),
			 rt.number(b, values.size()), rt.raw(b, table), side[&i][0]});
	}

	void visitPHINode(PHINode &i)
	{
		if (!width_of(i.getType()))
			return;
		auto *n = PHINode::Create(rt.i32, i.getNumIncomingValues(), "", &i);
		node[&i] = n;
		phis.push_back({&i, n});
	}

	// ---- computation -------------------------------------------------------------------------

	void visitSelectInst(SelectInst &i)
	{
		auto *c = i.getCondition();
		if (!width_of(i.getType()) || !c->getType()->isIntegerTy(1)) {
			pin_operands(i);
			return;
		}
		if (!follows(c) && !follows(i.getTrueValue()) && !follows(i.getFalseValue()))
			return;
		IRBuilder<> b(i.getNextNode());
		auto *what = b.CreateOr(b.CreateShl(b.CreateZExt(c, rt.i32), 24),
					unsigned(AM_OP_ITE) | width_of(i.getType()) << 8);
		node[&i] = rt.call(b, "__atommon_sym_ite", rt.i32,
				   {what, node_of(c), node_of(i.getTrueValue()),
				    node_of(i.getFalseValue()), to_64(b, i.getTrueValue()),
				    to_64(b, i.getFalseValue())});
	}

	static am_op operation(unsigned opcode)
	{
		switch (opcode) {
		case Instruction::Add: return AM_OP_ADD;
		case Instruction::Sub: return AM_OP_SUB;
		case Instruction::Mul: return AM_OP_MUL;
		case Instruction::UDiv: return AM_OP_UDIV;
		case Instruction::SDiv: return AM_OP_SDIV;
		case Instruction::URem: return AM_OP_UREM;
		case Instruction::SRem: return AM_OP_SREM;
		case Instruction::And: return AM_OP_AND;
		case Instruction::Or: return AM_OP_OR;
		case Instruction::Xor: return AM_OP_XOR;
		case Instruction::Shl: return AM_OP_SHL;
		case Instruction::LShr: return AM_OP_LSHR;
		case Instruction::AShr: return AM_OP_ASHR;
		default: return AM_OP_NONE;
		}
	}

	void visitBinaryOperator(BinaryOperator &i)
	{
		const am_op o = operation(i.getOpcode());
		const unsigned width = width_of(i.getType());
		if (o == AM_OP_NONE || width == 0) {
			pin_operands(i);
			return;
		}
		if (!follows(i.getOperand(0)) && !follows(i.getOperand(1)))
			return;
		if (i.isIntDivRem()) {
			IRBuilder<> before(&i);
			pin(before, i.getOperand(1));
		}
		IRBuilder<> b(i.getNextNode());
		node[&i] = op(b, o, width, term(b, i.getOperand(0)), term(b, i.getOperand(1)));
	}

	static am_op comparison(CmpInst::Predicate p)
	{
		switch (p) {
		case CmpInst::ICMP_EQ: return AM_OP_EQ;
		case CmpInst::ICMP_NE: return AM_OP_NE;
		case CmpInst::ICMP_UGT: return AM_OP_UGT;
		case CmpInst::ICMP_UGE: return AM_OP_UGE;
		case CmpInst::ICMP_ULT: return AM_OP_ULT;
		case CmpInst::ICMP_ULE: return AM_OP_ULE;
		case CmpInst::ICMP_SGT: return AM_OP_SGT;
		case CmpInst::ICMP_SGE: return AM_OP_SGE;
		case CmpInst::ICMP_SLT: return AM_OP_SLT;
		default: return AM_OP_SLE;
		}
	}

	void visitICmpInst(ICmpInst &i)
	{
		if (!width_of(i.getOperand(0)->getType())) {
			pin_operands(i);
			return;
		}
		if (!follows(i.getOperand(0)) && !follows(i.getOperand(1)))
			return;
		IRBuilder<> b(i.getNextNode());
		node[&i] = op(b, comparison(i.getPredicate()), 1, term(b, i.getOperand(0)),
			      term(b, i.getOperand(1)));
	}

	void visitCastInst(CastInst &i)
	{
		auto *from = i.getOperand(0);
		const unsigned a = width_of(from->getType()), w = width_of(i.getType());
		if (!follows(from))
			return;
		if (!a || !w) {
			pin_operands(i);
			return;
		}
		if (a == w) {
			node[&i] = node_of(from);
			return;
		}
		const am_op o = w < a ? AM_OP_TRUNC : isa<SExtInst>(i) ? AM_OP_SEXT : AM_OP_ZEXT;
		IRBuilder<> b(i.getNextNode());
		node[&i] = op(b, o, w, term(b, from));
	}

	void visitFreezeInst(FreezeInst &i)
	{
		if (follows(i.getOperand(0)))
			node[&i] = node_of(i.getOperand(0));
	}

	// Address arithmetic: base + constant + sum of index * scale, in 64 bits.
	void visitGetElementPtrInst(GetElementPtrInst &i)
	{
		bool any = false;
		for (auto &operand : i.operands())
			any |= follows(operand);
		if (!any)
			return;
		MapVector<Value *, APInt> indices;
		APInt constant(64, 0);
		if (!width_of(i.getType()) ||
		    !cast<GEPOperator>(i).collectOffset(layout, 64, indices, constant)) {
			pin_operands(i);
			return;
		}
		IRBuilder<> b(i.getNextNode());
		Term sum = term(b, i.getPointerOperand());
		const auto add = [&](const Term &t) {
			auto *n = op(b, AM_OP_ADD, 64, sum, t);
			sum = {b.CreateAdd(sum.value, t.value), n, 64};
		};
		for (const auto &each : indices) {
			const Term index = term(b, each.first);
			Term wide = index;
			if (index.width < 64) {
				wide.value = b.CreateSExt(each.first, rt.i64);
				wide.node = op(b, AM_OP_SEXT, 64, index);
				wide.width = 64;
			} else if (index.width == 0) {
				pin_operands(i);
				return;
			}
			const Term scale{b.getInt64(each.second.getZExtValue()), zero(), 64};
			add({b.CreateMul(wide.value, scale.value), op(b, AM_OP_MUL, 64, wide, scale), 64});
		}
		if (constant != 0)
			add({b.getInt64(constant.getZExtValue()), zero(), 64});
		node[&i] = sum.node;
	}

	// Everything else cannot be followed.
	void visitInstruction(Instruction &i) { pin_operands(i); }
	void visitAllocaInst(AllocaInst &i) { pin_operands(i); }
};

} // namespace atommon

#endif
