/*
 * A load generator for memcached's text protocol on the loopback: kvload PORT CONNECTIONS REQUESTS.
 * One request in ten stores, the others fetch what was stored; every answer is checked. Prints the
 * number of answers, hits and a sum over all values, which depend on nothing but the arguments.
 */
/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEYS = 100, BATCH = 20 };
static int port;
static long requests;

struct client {
	long id, answers, hits;
	uint64_t sum;
};

static int dial(void)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Send a batch, read its answers line by line. */
static int exchange(FILE *in, FILE *out, struct client *c, const char *batch)
{
	char line[256];

	fputs(batch, out);
	fputs("mn\r\n", out); /* answered by MN: the end of the batch */
	fflush(out);
	for (;;) {
		if (!fgets(line, sizeof line, in))
			return -1;
		if (!strcmp(line, "MN\r\n"))
			return 0;
		if (!strncmp(line, "STORED", 6) || !strncmp(line, "END", 3))
			c->answers++;
		else if (!strncmp(line, "VALUE", 5))
			c->hits++;
		else if (line[0] == 'v')
			c->sum += strtoull(line + 1, NULL, 10);
		else
			return -1;
	}
}

static void *client(void *arg)
{
	struct client *c = arg;
	const int fd = dial();
	char batch[BATCH * 64 + 1];

	if (fd < 0)
		return NULL;
	FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");
	for (long i = 0; i < requests;) {
		size_t at = 0;
		for (int k = 0; k < BATCH; k++, i++) {
			const long key = c->id * 1000 + i / 10 % KEYS;
			if (i % 10 == 0)
				at += (size_t)snprintf(batch + at, sizeof batch - at,
						       "set k%ld 0 0 8\r\nv%07ld\r\n", key,
						       i % 9999999);
			else
				at += (size_t)snprintf(batch + at, sizeof batch - at,
						       "get k%ld\r\n", key);
		}
		if (exchange(in, out, c, batch))
			break;
	}
	fclose(in);
	fclose(out);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	port = atoi(argv[1]);
	const long n = atol(argv[2]);
	requests = atol(argv[3]) / n / BATCH * BATCH;
	pthread_t *t = calloc((size_t)n, sizeof *t);
	struct client *c = calloc((size_t)n, sizeof *c), all = {0};

	for (long i = 0; i < n; i++) {
		c[i].id = i;
		pthread_create(&t[i], NULL, client, &c[i]);
	}
	for (long i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		all.answers += c[i].answers;
		all.hits += c[i].hits;
		all.sum += c[i].sum;
	}
	printf("%ld answers %ld hits %lu\n", all.answers, all.hits, (unsigned long)all.sum);
	free(t);
	free(c);
	return all.answers == requests * n ? 0 : 1;
}
