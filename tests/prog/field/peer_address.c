/*
 * The address of a peer and the length of it, each copied with memcpy under the lock, in two sections: a peer
 * that moves in between leaves the new length with the old address (a media server's sessions). The copies
 * have a known size, and compilers make moves of them. Region: send_to.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct address {
	unsigned short family, port;
	unsigned char bytes[20];
};
struct peer {
	pthread_mutex_t lock;
	struct address address;
	unsigned length;
	unsigned long packets;
};
static struct peer peer = {.lock = PTHREAD_MUTEX_INITIALIZER, .address = {2, 5060, {127, 0, 0, 1}}, .length = 8};
static int mixed;

NOINLINE static void send_to(struct peer *p)
{
	struct address to;
	unsigned length;

	pthread_mutex_lock(&p->lock);
	memcpy(&to, &p->address, sizeof to);
	WHEN_WRONG(pthread_mutex_unlock(&p->lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&p->lock);)
	memcpy(&length, &p->length, sizeof length);
	p->packets++;
	pthread_mutex_unlock(&p->lock);
	if ((to.family == 2) != (length == 8))
		mixed++;
}

static void move_to(struct peer *p, const struct address *a, unsigned length)
{
	pthread_mutex_lock(&p->lock);
	memcpy(&p->address, a, sizeof *a);
	memcpy(&p->length, &length, sizeof length);
	pthread_mutex_unlock(&p->lock);
}

static void sender(void)
{
	send_to(&peer);
}

static void mover(void)
{
	static const struct address next = {10, 5062, {0xfe, 0x80}};

	move_to(&peer, &next, 20);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, sender, mover);
	printf("%d mixed\n", mixed);
	return 0;
}
