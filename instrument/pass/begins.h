// Does a name begin so? By what all versions of LLVM have: its own word for that was changed.
//
// SPDX-License-Identifier: MIT
#ifndef ATOMMON_PASS_BEGINS_H
#define ATOMMON_PASS_BEGINS_H

#include "llvm/ADT/StringRef.h"

namespace atommon
{

inline bool begins(llvm::StringRef name, llvm::StringRef with)
{
	return name.take_front(with.size()) == with;
}

} // namespace atommon

#endif
