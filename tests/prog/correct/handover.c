/* Data that goes from thread to thread: buffers, pools, mailboxes, caches, accounts. All are right. */
/* SPDX-License-Identifier: MIT */
#include "team.h"

#include <semaphore.h>
#include <stdatomic.h>

static atomic_long sent, received;

static int is_received(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return sent == received;
}

/* ---- a buffer with a lock and two conditions ---- */
enum { SLOTS = 4 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static long slots[SLOTS];
static unsigned first, filled;

NOINLINE static void op_put(long value)
{
	pthread_mutex_lock(&mutex);
	while (filled == SLOTS)
		pthread_cond_wait(&not_full, &mutex);
	slots[(first + filled++) % SLOTS] = value;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&mutex);
}

NOINLINE static long op_take(void)
{
	pthread_mutex_lock(&mutex);
	while (filled == 0)
		pthread_cond_wait(&not_empty, &mutex);
	const long value = slots[first];
	first = (first + 1) % SLOTS;
	filled--;
	pthread_cond_signal(&not_full);
	pthread_mutex_unlock(&mutex);
	return value;
}

static void put_and_take(unsigned who, unsigned round)
{
	atomic_fetch_add(&sent, (long)(who * 1000 + round));
	op_put((long)(who * 1000 + round));
	atomic_fetch_add(&received, op_take());
}

/* ---- the same with semaphores and a lock for the ends ---- */
static sem_t free_slots, full_slots;

static void make_semaphores(unsigned threads)
{
	(void)threads;
	sem_init(&free_slots, 0, SLOTS);
	sem_init(&full_slots, 0, 0);
}

NOINLINE static void op_store(long value)
{
	pthread_mutex_lock(&mutex);
	slots[(first + filled++) % SLOTS] = value;
	pthread_mutex_unlock(&mutex);
}

NOINLINE static long op_fetch(void)
{
	pthread_mutex_lock(&mutex);
	const long value = slots[first];
	first = (first + 1) % SLOTS;
	filled--;
	pthread_mutex_unlock(&mutex);
	return value;
}

static void store_and_fetch(unsigned who, unsigned round)
{
	sem_wait(&free_slots);
	op_store((long)(who + round));
	sem_post(&full_slots);
	sem_wait(&full_slots);
	op_fetch();
	sem_post(&free_slots);
}

static int is_empty(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return filled == 0;
}

/* ---- one letter at a time, from one thread to the next, with a flag ---- */
static struct box {
	atomic_int is_full;
	long letter;
} boxes[64];
static unsigned n_boxes;

static void make_boxes(unsigned threads)
{
	n_boxes = threads;
}

NOINLINE static void op_send(struct box *box, long letter)
{
	while (atomic_load_explicit(&box->is_full, memory_order_acquire))
		sched_yield();
	box->letter = letter;
	atomic_store_explicit(&box->is_full, 1, memory_order_release);
}

NOINLINE static long op_receive(struct box *box)
{
	while (!atomic_load_explicit(&box->is_full, memory_order_acquire))
		sched_yield();
	const long letter = box->letter;
	atomic_store_explicit(&box->is_full, 0, memory_order_release);
	return letter;
}

static void send_and_receive(unsigned who, unsigned round)
{
	op_send(&boxes[(who + 1) % n_boxes], (long)round);
	if (op_receive(&boxes[who]) != (long)round)
		abort();
}

static int is_always(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return 1;
}

/* ---- tasks for whoever has time; each is a block that its worker frees ---- */
struct task {
	struct task *next;
	long value;
};
static struct task *tasks;

NOINLINE static void op_submit(long value)
{
	struct task *t = malloc(sizeof *t);

	t->value = value;
	pthread_mutex_lock(&mutex);
	t->next = tasks;
	tasks = t;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&mutex);
}

NOINLINE static struct task *op_next_task(void)
{
	pthread_mutex_lock(&mutex);
	while (!tasks)
		pthread_cond_wait(&not_empty, &mutex);
	struct task *t = tasks;
	tasks = t->next;
	pthread_mutex_unlock(&mutex);
	return t;
}

static void submit_and_work(unsigned who, unsigned round)
{
	atomic_fetch_add(&sent, (long)(who + round));
	op_submit((long)(who + round));
	struct task *t = op_next_task();
	atomic_fetch_add(&received, t->value);
	free(t);
}

/* ---- a pool of blocks behind a lock made by hand; blocks are used again at once ---- */
static atomic_int pool_busy;
static struct task *pool;

NOINLINE static struct task *op_alloc(void)
{
	while (atomic_exchange_explicit(&pool_busy, 1, memory_order_acquire))
		sched_yield();
	struct task *t = pool;
	if (t)
		pool = t->next;
	atomic_store_explicit(&pool_busy, 0, memory_order_release);
	return t ? t : malloc(sizeof *t);
}

NOINLINE static void op_free(struct task *t)
{
	while (atomic_exchange_explicit(&pool_busy, 1, memory_order_acquire))
		sched_yield();
	t->next = pool;
	pool = t;
	atomic_store_explicit(&pool_busy, 0, memory_order_release);
}

static void alloc_and_free(unsigned who, unsigned round)
{
	struct task *one = op_alloc(), *two = op_alloc();

	one->value = two->value = (long)(who * 1000 + round);
	op_free(one);
	if (two->value != (long)(who * 1000 + round))
		abort();
	op_free(two);
}

/* ---- a cache: found under the shared lock, or made under the exclusive one, where it is looked up again ---- */
static pthread_rwlock_t cache_lock = PTHREAD_RWLOCK_INITIALIZER;
static long cache[16];

NOINLINE static long op_lookup(unsigned key)
{
	pthread_rwlock_rdlock(&cache_lock);
	const long value = cache[key];
	pthread_rwlock_unlock(&cache_lock);
	return value;
}

NOINLINE static long op_make(unsigned key)
{
	pthread_rwlock_wrlock(&cache_lock);
	if (!cache[key])
		cache[key] = 100 + key;
	const long value = cache[key];
	pthread_rwlock_unlock(&cache_lock);
	return value;
}

static void look_up(unsigned who, unsigned round)
{
	const unsigned key = (who + round) % 16;
	long value = op_lookup(key);

	if (!value)
		value = op_make(key);
	if (value != 100 + (long)key)
		abort();
}

/* ---- accounts with a lock each, always taken in the same order; the sum never changes ---- */
static struct account {
	pthread_mutex_t lock;
	long balance;
} accounts[4];

static void make_accounts(unsigned threads)
{
	(void)threads;
	for (unsigned i = 0; i < 4; i++) {
		pthread_mutex_init(&accounts[i].lock, NULL);
		accounts[i].balance = 100;
	}
}

NOINLINE static void op_transfer(unsigned from, unsigned to)
{
	const unsigned low = from < to ? from : to, high = from < to ? to : from;

	pthread_mutex_lock(&accounts[low].lock);
	pthread_mutex_lock(&accounts[high].lock);
	accounts[from].balance--;
	accounts[to].balance++;
	pthread_mutex_unlock(&accounts[high].lock);
	pthread_mutex_unlock(&accounts[low].lock);
}

NOINLINE static long op_audit(void)
{
	long sum = 0;

	for (unsigned i = 0; i < 4; i++)
		pthread_mutex_lock(&accounts[i].lock);
	for (unsigned i = 0; i < 4; i++)
		sum += accounts[i].balance;
	for (unsigned i = 4; i-- > 0;)
		pthread_mutex_unlock(&accounts[i].lock);
	return sum;
}

static void transfer_or_audit(unsigned who, unsigned round)
{
	if (round % 3)
		op_transfer((who + round) % 4, (who + round * 3 + 1) % 4 == (who + round) % 4 ? (who + round + 1) % 4
											    : (who + round * 3 + 1) % 4);
	else if (op_audit() != 400)
		abort();
}

/* ---- phases: each thread has its part, and reads the others' after the barrier ---- */
static pthread_barrier_t phase;
static long parts[2][64];
static unsigned n_parts;

static void make_phases(unsigned threads)
{
	n_parts = threads;
	pthread_barrier_init(&phase, NULL, threads);
}

NOINLINE static void op_step(unsigned who, unsigned round)
{
	const unsigned now = round % 2, before = 1 - now;

	parts[now][who] = parts[before][(who + 1) % n_parts] + 1;
}

static void step(unsigned who, unsigned round)
{
	op_step(who, round);
	pthread_barrier_wait(&phase);
}

/* ---- the same with a barrier made by hand, whose sense changes ---- */
static atomic_uint waiting, sense;

static void wait_for_all(void)
{
	const unsigned mine = !atomic_load(&sense);

	if (atomic_fetch_add(&waiting, 1) == n_parts - 1) {
		atomic_store(&waiting, 0);
		atomic_store(&sense, mine);
	} else {
		while (atomic_load(&sense) != mine)
			sched_yield();
	}
}

static void step_by_hand(unsigned who, unsigned round)
{
	op_step(who, round);
	wait_for_all();
}

/* ---- made once, by the library ---- */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;

static void make(void)
{
	made++;
}

NOINLINE static int op_use(void)
{
	pthread_once(&once, make);
	return made;
}

static void use(unsigned who, unsigned round)
{
	(void)who, (void)round;
	if (op_use() != 1)
		abort();
}

/* ---- asked to stop by a flag that is looked at between steps ---- */
static atomic_int stop;
static long steps[64];

NOINLINE static void op_count(unsigned who)
{
	pthread_mutex_lock(&mutex);
	steps[who]++;
	steps[63]++;
	pthread_mutex_unlock(&mutex);
}

static void until_stopped(unsigned who, unsigned round)
{
	(void)round;
	if (atomic_load(&stop))
		return;
	op_count(who);
	if (steps[who] > 80)
		atomic_store(&stop, 1);
}

int main(int argc, char **argv)
{
	static const struct job jobs[] = {
		{"buffer", put_and_take, is_received, NULL},
		{"semaphores", store_and_fetch, is_empty, make_semaphores},
		{"mailbox", send_and_receive, is_always, make_boxes},
		{"tasks", submit_and_work, is_received, NULL},
		{"pool", alloc_and_free, is_always, NULL},
		{"cache", look_up, is_always, NULL},
		{"accounts", transfer_or_audit, is_always, make_accounts},
		{"phases", step, is_always, make_phases},
		{"barrier", step_by_hand, is_always, make_phases},
		{"pthread_once", use, is_always, NULL},
		{"stop", until_stopped, is_always, NULL},
	};

	return team_main(argc, argv, jobs, sizeof jobs / sizeof *jobs);
}
