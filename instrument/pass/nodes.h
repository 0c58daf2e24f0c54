// The expression nodes of one function: every integer or pointer value has a companion, the number of its node (0: it
// does not depend on a read). Owns who has which, makes the calls for operations on them, and pins. Used by the symbolic pass
// only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_NODES_H
#define ATOMMON_PASS_NODES_H

#include "instrument/pass/values.h"

namespace atommon
{

// A value during the computation of an expression: 64 bits, its node, its width.
struct Term {
	Value *value, *node;
	unsigned width;
};

class Nodes {
	DenseMap<Value *, Value *> node;

public:
	Runtime &rt;

	explicit Nodes(Runtime &r) : rt(r) {}

	Value *zero() const { return ConstantInt::get(rt.i32, 0); }
	Value *of(Value *v) const
	{
		const auto found = node.find(v);
		return found == node.end() ? zero() : found->second;
	}
	void set(Value *v, Value *n) { node[v] = n; }
	bool follows(Value *v) const { return !isa<Constant>(of(v)); }

	Term term(IRBuilder<> &b, Value *v) const
	{
		return {to_64(b, v), of(v), width_of(v->getType())};
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
			rt.call(b, "__atommon_sym_pin", rt.nothing, {of(v), to_64(b, v)});
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
};

} // namespace atommon

#endif
