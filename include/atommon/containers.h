/* SPDX-License-Identifier: MIT */
/*
 * Functions of libstdc++ that link nodes of std::map, std::set and std::list for code made from templates,
 * by their names in the ABI. Watched code calls __wrap_NAME (instrument/stub_tree.c, stub_list.c)
 * instead, as for strings.h.
 */
#ifndef ATOMMON_CONTAINERS_H
#define ATOMMON_CONTAINERS_H

#define AM_CONTAINER_FUNCTIONS(X)                                                                  \
	X(_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_)                       \
	X(_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_)                            \
	X(_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base)                                         \
	X(_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base)                                        \
	X(_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base)                                         \
	X(_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base)                                        \
	X(_ZNSt8__detail15_List_node_base7_M_hookEPS0_)                                            \
	X(_ZNSt8__detail15_List_node_base9_M_unhookEv)                                             \
	X(_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_)                                    \
	X(_ZNSt8__detail15_List_node_base10_M_reverseEv)                                           \
	X(_ZNSt8__detail15_List_node_base4swapERS0_S1_)

#define AM_TREE_INSERT __wrap__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_
#define AM_TREE_ERASE __wrap__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_
#define AM_TREE_NEXT __wrap__ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base
#define AM_TREE_NEXT_CONST __wrap__ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base
#define AM_TREE_PREVIOUS __wrap__ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base
#define AM_TREE_PREVIOUS_CONST __wrap__ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base
#define AM_LIST_HOOK __wrap__ZNSt8__detail15_List_node_base7_M_hookEPS0_
#define AM_LIST_UNHOOK __wrap__ZNSt8__detail15_List_node_base9_M_unhookEv
#define AM_LIST_TRANSFER __wrap__ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_
#define AM_LIST_REVERSE __wrap__ZNSt8__detail15_List_node_base10_M_reverseEv
#define AM_LIST_SWAP __wrap__ZNSt8__detail15_List_node_base4swapERS0_S1_

#endif
