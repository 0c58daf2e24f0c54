#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A long run in which nothing went wrong, in STD form, for tests/bench/scale.sh.

usage: scale_trace.py EVENTS REGIONS THREADS SEED

Regions of several threads follow one another (a serial run). Kinds: transfers under two locks in
order, statistics under one lock, an object handed over through a locked queue, two sections of different
locks, private work: all correct. One region, in the middle of the run, reads a balance in one section and
writes it in the next: planted(). Another thread sets that balance afterwards, and might have done so in between.
"""
import random
import sys


def main():
    events, regions, threads, seed = (int(a) for a in sys.argv[1:5])
    rng = random.Random(seed)
    out = []
    accounts, hot, items = 40, 8, 0
    each = max(8, events // regions)

    def say(t, what, line):
        out.append(f"T{t}|{what}|{line}")

    def private(t, n, line):
        for i in range(n):
            cell = rng.randrange(200)
            say(t, f"{'rw'[i & 1]}(own{t}_{cell})", line + (i & 1))

    def transfer(t, n):
        a, b = sorted(rng.sample(range(accounts), 2))
        say(t, "begin(transfer)", 100)
        private(t, n - 10, 101)
        for x in (a, b):
            say(t, f"acq(lock{x})", 103)
        for x in (a, b):
            say(t, f"r(balance{x})", 104)
            say(t, f"w(balance{x})", 105)
        for x in (b, a):
            say(t, f"rel(lock{x})", 106)
        say(t, "end(transfer)", 107)

    def statistics(t, n):
        say(t, "begin(statistics)", 200)
        say(t, "acq(stat_lock)", 201)
        for i in range((n - 4) // 2):
            say(t, f"r(counter{rng.randrange(hot)})", 202)
            say(t, f"w(counter{rng.randrange(hot)})", 203)
        say(t, "rel(stat_lock)", 204)
        say(t, "end(statistics)", 205)

    def hand_over(t, n):
        nonlocal items
        u = rng.choice([x for x in range(1, threads + 1) if x != t])
        items += 1
        say(t, "begin(produce)", 300)
        for i in range(n // 2 - 5):
            say(t, f"w(item{items}_{i % 16})", 301)
        say(t, "acq(queue_lock)", 302)
        say(t, "w(queue)", 303)
        say(t, "rel(queue_lock)", 304)
        say(t, "end(produce)", 305)
        say(u, "begin(consume)", 310)
        say(u, "acq(queue_lock)", 311)
        say(u, "r(queue)", 312)
        say(u, "w(queue)", 313)
        say(u, "rel(queue_lock)", 314)
        for i in range(n // 2 - 5):
            say(u, f"r(item{items}_{i % 16})", 315)
        say(u, "end(consume)", 316)

    def two_sections(t, n):
        x, y = rng.randrange(hot), rng.randrange(hot)
        say(t, "begin(refresh)", 400)
        private(t, n - 8, 401)
        say(t, f"acq(left{x})", 403)
        say(t, f"r(left_data{x})", 404)
        say(t, f"rel(left{x})", 405)
        say(t, f"acq(right{y})", 406)
        say(t, f"r(right_data{y})", 407)
        say(t, f"rel(right{y})", 408)
        say(t, "end(refresh)", 409)

    def planted(t):
        say(t, "begin(planted)", 900)
        say(t, "acq(lock0)", 901)
        say(t, "r(balance0)", 902)
        say(t, "rel(lock0)", 903)
        say(t, "acq(lock0)", 904)
        say(t, "w(balance0)", 905)
        say(t, "rel(lock0)", 906)
        say(t, "end(planted)", 907)
        say(t + 1, "begin(reset)", 910)
        say(t + 1, "acq(lock0)", 911)
        say(t + 1, "w(balance0)", 912)
        say(t + 1, "rel(lock0)", 913)
        say(t + 1, "end(reset)", 914)

    for t in range(1, threads + 1):
        say(0, f"fork(T{t})", 1)
    kinds = [transfer, statistics, hand_over, two_sections]
    done = 0
    is_planted = False
    while done < regions:
        if not is_planted and done >= regions // 2:
            is_planted = True
            planted(1)
            done += 2
            continue
        kind = rng.choice(kinds)
        kind(rng.randrange(1, threads + 1), each * (2 if kind is hand_over else 1))
        done += 2 if kind is hand_over else 1
    for t in range(1, threads + 1):
        say(0, f"join(T{t})", 2)
    sys.stdout.write("\n".join(out) + "\n")


main()
