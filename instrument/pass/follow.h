// Follows expressions through one function: visits its instructions and hands each to the part that knows its kind. Values
// that expressions cannot follow pin what flows into them. Used by the symbolic pass only; the function's own meaning
// stays what it was.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_FOLLOW_H
#define ATOMMON_PASS_FOLLOW_H

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/InstVisitor.h"
#include "llvm/Transforms/Utils/EscapeEnumerator.h"

#include "instrument/pass/calls.h"
#include "instrument/pass/compute.h"
#include "instrument/pass/control.h"
#include "instrument/pass/memory.h"

namespace atommon
{

class Follow : public InstVisitor<Follow> {
	Function &f;
	Runtime &rt;
	Nodes nodes;
	Calls calls;
	Memory memory;
	Control control;
	Compute compute;

public:
	Follow(Function &function, Function &identity, const DenseMap<Function *, Function *> &known,
	       Runtime &r, Sides &sides)
		: f(function), rt(r), nodes(r), calls(nodes, function, identity, known),
		  memory(nodes, function.getParent()->getDataLayout()), control(nodes, function, sides),
		  compute(nodes, function.getParent()->getDataLayout())
	{
	}

	// Before any function is changed.
	void look() { control.find_sides(); }

	void run()
	{
		SmallVector<Instruction *, 128> todo;
		for (auto *block : ReversePostOrderTraversal<Function *>(&f))
			for (auto &i : *block)
				todo.push_back(&i);
		calls.enter();
		for (auto *i : todo)
			visit(*i);
		control.close_joins();
		EscapeEnumerator exits(f, "atommon.leave", true);
		while (auto *b = exits.Next())
			rt.call(*b, "__tsan_func_exit", rt.nothing, {});
	}

	void visitReturnInst(ReturnInst &i) { calls.leave(i); }
	void visitCallBase(CallBase &i) { calls.call(i); }

	void visitLoadInst(LoadInst &i) { memory.load(i); }
	void visitStoreInst(StoreInst &i) { memory.store(i); }
	void visitAtomicRMWInst(AtomicRMWInst &i) { memory.update(i); }
	void visitAtomicCmpXchgInst(AtomicCmpXchgInst &i) { memory.exchange(i); }
	void visitExtractValueInst(ExtractValueInst &i) { memory.extract(i); }
	void visitFenceInst(FenceInst &i) { memory.fence(i); }

	void visitIntrinsicInst(IntrinsicInst &i)
	{
		if (memory.copy(i))
			return;
		switch (i.getIntrinsicID()) {
		case Intrinsic::expect:
			if (nodes.follows(i.getArgOperand(0)))
				nodes.set(&i, nodes.of(i.getArgOperand(0)));
			break;
		case Intrinsic::dbg_declare:
		case Intrinsic::dbg_value:
		case Intrinsic::dbg_label:
		case Intrinsic::lifetime_start:
		case Intrinsic::lifetime_end: break;
		default: nodes.pin_operands(i); break;
		}
	}

	void visitBranchInst(BranchInst &i) { control.branch(i); }
	void visitSwitchInst(SwitchInst &i) { control.choose(i); }
	void visitPHINode(PHINode &i) { control.join(i); }

	void visitSelectInst(SelectInst &i) { compute.select(i); }
	void visitBinaryOperator(BinaryOperator &i) { compute.binary(i); }
	void visitICmpInst(ICmpInst &i) { compute.compare(i); }
	void visitCastInst(CastInst &i) { compute.convert(i); }
	void visitFreezeInst(FreezeInst &i) { compute.freeze(i); }
	void visitGetElementPtrInst(GetElementPtrInst &i) { compute.address(i); }

	// Everything else cannot be followed.
	void visitInstruction(Instruction &i) { nodes.pin_operands(i); }
	void visitAllocaInst(AllocaInst &i) { nodes.pin_operands(i); }
};

} // namespace atommon

#endif
