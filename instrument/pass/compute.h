// Computation: arithmetic, comparisons, casts, selects and addresses as expressions over their operands' nodes. Used by
// the symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_COMPUTE_H
#define ATOMMON_PASS_COMPUTE_H

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Operator.h"

#include "instrument/pass/nodes.h"

namespace atommon
{

class Compute {
	Nodes &nodes;
	Runtime &rt;
	const DataLayout &layout;

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

public:
	Compute(Nodes &n, const DataLayout &l) : nodes(n), rt(n.rt), layout(l) {}

	void select(SelectInst &i)
	{
		auto *c = i.getCondition();
		if (!width_of(i.getType()) || !c->getType()->isIntegerTy(1)) {
			nodes.pin_operands(i);
			return;
		}
		if (!nodes.follows(c) && !nodes.follows(i.getTrueValue()) && !nodes.follows(i.getFalseValue()))
			return;
		IRBuilder<> b(i.getNextNode());
		auto *what = b.CreateOr(b.CreateShl(b.CreateZExt(c, rt.i32), 24),
					unsigned(AM_OP_ITE) | width_of(i.getType()) << 8);
		nodes.set(&i, rt.call(b, "__atommon_sym_ite", rt.i32,
				   {what, nodes.of(c), nodes.of(i.getTrueValue()),
				    nodes.of(i.getFalseValue()), to_64(b, i.getTrueValue()),
				    to_64(b, i.getFalseValue())}));
	}

	void binary(BinaryOperator &i)
	{
		const am_op o = operation(i.getOpcode());
		const unsigned width = width_of(i.getType());
		if (o == AM_OP_NONE || width == 0) {
			nodes.pin_operands(i);
			return;
		}
		if (!nodes.follows(i.getOperand(0)) && !nodes.follows(i.getOperand(1)))
			return;
		if (i.isIntDivRem()) {
			IRBuilder<> before(&i);
			nodes.pin(before, i.getOperand(1));
		}
		IRBuilder<> b(i.getNextNode());
		nodes.set(&i, nodes.op(b, o, width, nodes.term(b, i.getOperand(0)), nodes.term(b, i.getOperand(1))));
	}

	void compare(ICmpInst &i)
	{
		if (!width_of(i.getOperand(0)->getType())) {
			nodes.pin_operands(i);
			return;
		}
		if (!nodes.follows(i.getOperand(0)) && !nodes.follows(i.getOperand(1)))
			return;
		IRBuilder<> b(i.getNextNode());
		nodes.set(&i, nodes.op(b, comparison(i.getPredicate()), 1, nodes.term(b, i.getOperand(0)),
			      nodes.term(b, i.getOperand(1))));
	}

	void convert(CastInst &i)
	{
		auto *from = i.getOperand(0);
		const unsigned a = width_of(from->getType()), w = width_of(i.getType());
		if (!nodes.follows(from))
			return;
		if (!a || !w) {
			nodes.pin_operands(i);
			return;
		}
		if (a == w) {
			nodes.set(&i, nodes.of(from));
			return;
		}
		const am_op o = w < a ? AM_OP_TRUNC : isa<SExtInst>(i) ? AM_OP_SEXT : AM_OP_ZEXT;
		IRBuilder<> b(i.getNextNode());
		nodes.set(&i, nodes.op(b, o, w, nodes.term(b, from)));
	}

	void freeze(FreezeInst &i)
	{
		if (nodes.follows(i.getOperand(0)))
			nodes.set(&i, nodes.of(i.getOperand(0)));
	}

	// Address arithmetic: base + constant + sum of index * scale, in 64 bits.
	void address(GetElementPtrInst &i)
	{
		bool any = false;
		for (auto &operand : i.operands())
			any |= nodes.follows(operand);
		if (!any)
			return;
		MapVector<Value *, APInt> indices;
		APInt constant(64, 0);
		if (!width_of(i.getType()) ||
		    !cast<GEPOperator>(i).collectOffset(layout, 64, indices, constant)) {
			nodes.pin_operands(i);
			return;
		}
		IRBuilder<> b(i.getNextNode());
		Term sum = nodes.term(b, i.getPointerOperand());
		const auto add = [&](const Term &t) {
			auto *n = nodes.op(b, AM_OP_ADD, 64, sum, t);
			sum = {b.CreateAdd(sum.value, t.value), n, 64};
		};
		for (const auto &each : indices) {
			const Term index = nodes.term(b, each.first);
			Term wide = index;
			if (index.width < 64) {
				wide.value = b.CreateSExt(each.first, rt.i64);
				wide.node = nodes.op(b, AM_OP_SEXT, 64, index);
				wide.width = 64;
			} else if (index.width == 0) {
				nodes.pin_operands(i);
				return;
			}
			const Term scale{b.getInt64(each.second.getZExtValue()), nodes.zero(), 64};
			add({b.CreateMul(wide.value, scale.value), nodes.op(b, AM_OP_MUL, 64, wide, scale), 64});
		}
		if (constant != 0)
			add({b.getInt64(constant.getZExtValue()), nodes.zero(), 64});
		nodes.set(&i, sum.node);
	}
};

} // namespace atommon

#endif
