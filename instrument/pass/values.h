// Values and the calls that carry them: how the symbolic pass turns an LLVM value into 64 bits and
// back, and declares the functions of include/atommon/symbolic.h. Used by the symbolic pass only.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_VALUES_H
#define ATOMMON_PASS_VALUES_H

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include "atommon/expr.h"
#include "atommon/symbolic.h"

namespace atommon
{

using namespace llvm;

// Width of a value that expressions can follow, else 0.
inline unsigned width_of(const Type *type)
{
	if (const auto *i = dyn_cast<IntegerType>(type))
		return i->getBitWidth() <= 64 ? i->getBitWidth() : 0;
	if (type->isPointerTy())
		return type->getPointerAddressSpace() == 0 ? 64 : 0;
	return 0;
}

// log2 of the bytes of a value that one call can load or store, else -1.
inline int access_code(const Type *type)
{
	if (type->isFloatTy())
		return 2;
	if (type->isDoubleTy())
		return 3;
	switch (width_of(type)) {
	case 8: return 0;
	case 16: return 1;
	case 32: return 2;
	case 64: return 3;
	default: return -1;
	}
}

inline Value *to_64(IRBuilder<> &b, Value *v)
{
	auto *type = v->getType();
	if (type->isPointerTy())
		return b.CreatePtrToInt(v, b.getInt64Ty());
	if (type->isFloatTy())
		v = b.CreateBitCast(v, b.getInt32Ty());
	else if (type->isDoubleTy())
		v = b.CreateBitCast(v, b.getInt64Ty());
	return b.CreateZExt(v, b.getInt64Ty());
}

inline Value *from_64(IRBuilder<> &b, Value *v, Type *type)
{
	if (type->isPointerTy())
		return b.CreateIntToPtr(v, type);
	if (type->isFloatTy())
		return b.CreateBitCast(b.CreateTrunc(v, b.getInt32Ty()), type);
	if (type->isDoubleTy())
		return b.CreateBitCast(v, type);
	return b.CreateTrunc(v, type);
}

// The runtime's functions, declared on first use.
class Runtime {
	Module &m;

public:
	Type *i32, *i64, *nothing;
	PointerType *pointer;
	StructType *pair;

	explicit Runtime(Module &module) : m(module)
	{
		auto &c = m.getContext();
		i32 = Type::getInt32Ty(c);
		i64 = Type::getInt64Ty(c);
		nothing = Type::getVoidTy(c);
		pointer = PointerType::get(Type::getInt8Ty(c), 0);
		pair = StructType::get(c, {i64, i32});
	}

	CallInst *call(IRBuilder<> &b, const char *name, Type *result, ArrayRef<Value *> arguments)
	{
		SmallVector<Type *, 8> types;
		for (auto *a : arguments)
			types.push_back(a->getType());
		auto callee = m.getOrInsertFunction(name, FunctionType::get(result, types, false));
		if (auto *f = dyn_cast<Function>(callee.getCallee()))
			f->addFnAttr(Attribute::NoUnwind);
		return b.CreateCall(callee, arguments);
	}

	Value *raw(IRBuilder<> &b, Value *v) { return b.CreatePointerCast(v, pointer); }
	static Value *number(IRBuilder<> &b, uint64_t n) { return b.getInt32(uint32_t(n)); }
};

} // namespace atommon

#endif
