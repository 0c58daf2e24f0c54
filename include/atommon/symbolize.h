/* SPDX-License-Identifier: MIT */
/*
 * What the preload library and atommon-symbolize say to each other: lines of text over one stream.
 *
 *   question  SEQ c OFFSET BUILDID PATH      frames of the code at OFFSET of the file
 *             SEQ d OFFSET BUILDID PATH      the data symbol that covers OFFSET
 *   answer    SEQ f LINE FUNCTION<TAB>FILE   any number of, innermost inlined function first
 *             SEQ s START SIZE NAME<TAB>PART at most one
 *             SEQ .                          end of the answer
 *
 * SEQ is decimal and repeated in the answer, so that a late answer to a question that was given up
 * is recognised. OFFSET, START and SIZE are hexadecimal without prefix and are addresses of the
 * file (load bias taken off). BUILDID is hexadecimal or "-": a file whose build-id differs is not
 * used. PART says where in the variable OFFSET lies: ".len", "[3]", "+8", or nothing. An unknown
 * FUNCTION or FILE is empty. The helper ends at end of file.
 */
#ifndef ATOMMON_SYMBOLIZE_H
#define ATOMMON_SYMBOLIZE_H

enum { AM_SYMBOLIZE_LINE = 4096 }; /* longest line, newline included; longer names are cut */

#endif
