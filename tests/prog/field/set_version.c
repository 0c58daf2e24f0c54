/*
 * A packet socket's ring is laid out by its version. The version may be set while there is no
 * ring: that is asked without the lock that the ring is made under (an operating system's packet
 * sockets). Region: set_version.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct socket {
	pthread_mutex_t lock;
	int version;
	void *ring;
	int timer;
};
static struct socket *sock;

NOINLINE static int set_version(struct socket *s, int version)
{
	WHEN_FIXED(pthread_mutex_lock(&s->lock));
	if (s->ring) {
		WHEN_FIXED(pthread_mutex_unlock(&s->lock));
		return -EBUSY;
	}
	POINT();
	s->version = version;
	WHEN_FIXED(pthread_mutex_unlock(&s->lock));
	return 0;
}

NOINLINE static int set_ring(struct socket *s, size_t size)
{
	int result = -EBUSY;

	pthread_mutex_lock(&s->lock);
	if (!s->ring) {
		s->timer = s->version >= 3;
		s->ring = calloc(1, size);
		result = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return result;
}

static void first(void)
{
	set_version(sock, 3);
}

static void second(void)
{
	set_ring(sock, 4096);
}

int main(int argc, char **argv)
{
	sock = calloc(1, sizeof *sock);
	pthread_mutex_init(&sock->lock, NULL);
	sock->version = 1;
	order_run(argc, argv, first, second);
	printf("%s\n", sock->timer == (sock->version >= 3) ? "right" : "a ring of another version");
	return 0;
}
