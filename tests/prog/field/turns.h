/* SPDX-License-Identifier: MIT */
/* Two threads that take turns: one gives, and goes on when the other, which waited for it, gives back. */
#ifndef FIELD_TURNS_H
#define FIELD_TURNS_H

void turns_make(void);
void turns_give(void);
void turns_wait(void);
void turns_back(void);

#endif
