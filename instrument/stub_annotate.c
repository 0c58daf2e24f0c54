/*
 * libatommon-stub.so: the functions that a program may call by hand when it sees that it is built
 * with -fsanitize=thread (sanitizer/tsan_interface.h, and the older Annotate* family). Owns
 * do-nothing versions, so that such programs link. Must never do anything.
 */
/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define EXPORT __attribute__((visibility("default")))
#define NOTHING(name)                                                                              \
	EXPORT void *name(void)                                                                    \
	{                                                                                          \
		return NULL;                                                                       \
	}

NOTHING(__tsan_acquire)
NOTHING(__tsan_release)
NOTHING(__tsan_mutex_create)
NOTHING(__tsan_mutex_destroy)
NOTHING(__tsan_mutex_pre_lock)
NOTHING(__tsan_mutex_post_lock)
NOTHING(__tsan_mutex_pre_unlock)
NOTHING(__tsan_mutex_post_unlock)
NOTHING(__tsan_mutex_pre_signal)
NOTHING(__tsan_mutex_post_signal)
NOTHING(__tsan_mutex_pre_divert)
NOTHING(__tsan_mutex_post_divert)
NOTHING(__tsan_get_current_fiber)
NOTHING(__tsan_create_fiber)
NOTHING(__tsan_destroy_fiber)
NOTHING(__tsan_switch_to_fiber)
NOTHING(__tsan_set_fiber_name)
NOTHING(__tsan_external_register_tag)
NOTHING(__tsan_external_register_header)
NOTHING(__tsan_external_assign_tag)
NOTHING(__tsan_external_read)
NOTHING(__tsan_external_write)
NOTHING(__tsan_ignore_thread_begin)
NOTHING(__tsan_ignore_thread_end)
NOTHING(__tsan_check_no_mutexes_held)
NOTHING(__tsan_flush_memory)
NOTHING(AnnotateHappensBefore)
NOTHING(AnnotateHappensAfter)
NOTHING(AnnotateCondVarSignal)
NOTHING(AnnotateCondVarSignalAll)
NOTHING(AnnotateCondVarWait)
NOTHING(AnnotateMutexIsNotPHB)
NOTHING(AnnotateMutexIsUsedAsCondVar)
NOTHING(AnnotateRWLockCreate)
NOTHING(AnnotateRWLockCreateStatic)
NOTHING(AnnotateRWLockDestroy)
NOTHING(AnnotateRWLockAcquired)
NOTHING(AnnotateRWLockReleased)
NOTHING(AnnotateTraceMemory)
NOTHING(AnnotateFlushState)
NOTHING(AnnotateNewMemory)
NOTHING(AnnotateNoOp)
NOTHING(AnnotateMemoryIsInitialized)
NOTHING(AnnotateMemoryIsUninitialized)
NOTHING(RunningOnValgrind)
NOTHING(AnnotateFlushExpectedRaces)
NOTHING(AnnotateEnableRaceDetection)
NOTHING(AnnotatePCQGet)
NOTHING(AnnotatePCQPut)
NOTHING(AnnotatePCQDestroy)
NOTHING(AnnotatePCQCreate)
NOTHING(AnnotateExpectRace)
NOTHING(AnnotateBenignRace)
NOTHING(AnnotateBenignRaceSized)
NOTHING(AnnotateIgnoreReadsBegin)
NOTHING(AnnotateIgnoreReadsEnd)
NOTHING(AnnotateIgnoreWritesBegin)
NOTHING(AnnotateIgnoreWritesEnd)
NOTHING(AnnotateIgnoreSyncBegin)
NOTHING(AnnotateIgnoreSyncEnd)
NOTHING(AnnotatePublishMemoryRange)
NOTHING(AnnotateUnpublishMemoryRange)
NOTHING(AnnotateThreadName)
NOTHING(WTFAnnotateHappensBefore)
NOTHING(WTFAnnotateHappensAfter)
NOTHING(WTFAnnotateBenignRaceSized)
