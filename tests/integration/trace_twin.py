#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A reader of .atm files written from doc/trace-format.md alone: the stupid twin of the library.

usage: trace_twin.py FILE     prints index, thread, event, object and site of each event. Events that nothing orders
may stand in another order than the library's.
"""
import struct
import sys

M64 = (1 << 64) - 1
M32 = (1 << 32) - 1
GOLDEN = 0x9E3779B97F4A7C15
KINDS = ("none thread-begin thread-end fork join acquire release wait wake signal broadcast post take arrive "
         "leave once-begin once-end begin end read write update alloc free branch assert lost init destroy name "
         "enter leave-fn fence expr pin call untaken clock modules ext").split()
EXT, EXPR = KINDS.index("ext"), KINDS.index("expr")


def xxh32(data, seed):
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    rot = lambda x, r: ((x << r) | (x >> (32 - r))) & M32
    n, i = len(data), 0
    if n >= 16:
        acc = [(seed + p1 + p2) & M32, (seed + p2) & M32, seed & M32, (seed - p1) & M32]
        while i + 16 <= n:
            for k in range(4):
                lane = struct.unpack_from("<I", data, i + 4 * k)[0]
                acc[k] = rot((acc[k] + lane * p2) & M32, 13) * p1 & M32
            i += 16
        h = (rot(acc[0], 1) + rot(acc[1], 7) + rot(acc[2], 12) + rot(acc[3], 18)) & M32
    else:
        h = (seed + p5) & M32
    h = (h + n) & M32
    while i + 4 <= n:
        h = rot((h + struct.unpack_from("<I", data, i)[0] * p3) & M32, 17) * p4 & M32
        i += 4
    while i < n:
        h = rot((h + data[i] * p5) & M32, 11) * p1 & M32
        i += 1
    h = (h ^ h >> 15) * p2 & M32
    h = (h ^ h >> 13) * p3 & M32
    return h ^ h >> 16


def lz4(data):
    out, i = bytearray(), 0
    while i < len(data):
        token = data[i]
        i += 1
        n = token >> 4
        if n == 15:
            while True:
                n += data[i]
                i += 1
                if data[i - 1] != 255:
                    break
        out += data[i:i + n]
        i += n
        if i >= len(data):
            break
        offset = data[i] | data[i + 1] << 8
        i += 2
        n = (token & 15) + 4
        if token & 15 == 15:
            while True:
                n += data[i]
                i += 1
                if data[i - 1] != 255:
                    break
        for _ in range(n):
            out.append(out[-offset])
    return bytes(out)


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        v = shift = 0
        while True:
            b = self.data[self.at]
            self.at += 1
            v |= (b & 127) << shift
            shift += 7
            if not b & 128:
                return v

    def zigzag(self):
        v = self.varint()
        return -(v >> 1) - 1 if v & 1 else v >> 1


def h(x):
    return (x * GOLDEN & M64) >> 32


def slot(kind, obj, own=0):
    if own:
        return (1 << 14) + ((obj * 0x9E3779B1 & M32) >> 18)
    if KINDS[kind] in ("fork", "join", "thread-begin", "thread-end"):
        obj = 0x800000000000 | obj << 6
    return ((obj >> 6) * GOLDEN & M64) >> 50


class Predictor:
    def __init__(self):
        self.last = self.step = self.delta = 0

    def guess(self):
        return (self.last + self.step) & M64

    def learn(self, v):
        d = (v - self.last) & M64
        if d == self.delta:
            self.step = d
        elif d != self.step:
            self.step = 0
        self.delta, self.last = d, v


def decode_units(payload, n):
    follows, recent, number = {}, [0] * 31, {}
    objects, words = {}, {}
    previous = record = before = site = 0
    data = Bytes(payload[n:])
    units = []
    for c in payload[:n]:
        key = h(previous) % 1024
        if c & 1:
            head = follows.get(key, 0)
        else:
            if c >> 3 < 31:
                head = recent[c >> 3]
            else:
                head = data.data[data.at] | data.data[data.at + 1] << 8
                data.at += 2
                if head & 63 not in (EXT, EXPR):
                    site = (site + data.zigzag()) & M32
                    head |= site << 16
                recent[(h(head) >> 8) % 31] = head
            follows[key] = head
        previous = head
        kind = head & 63
        context = head ^ record << 16 if kind == EXT else head
        if kind != EXT:
            record = head
        k = h(context & M64) % 512
        p = objects.setdefault(k, Predictor())
        if c & 2:
            obj = p.guess()
        elif c & 1 and c & 8:
            obj = before
        else:
            obj = (p.guess() + data.zigzag()) & M64
        p.learn(obj)
        before = obj
        if kind in (EXT, EXPR):
            p = words.setdefault(k, Predictor())
            w1 = (p.guess() + (0 if c & 4 else data.zigzag())) & M64
            p.learn(w1)
        else:
            w1 = head >> 16 << 32
            if head & 128:
                s = slot(kind, obj, head & 0x8000) % 2048
                number[s] = (number.get(s, 0) + 1 + (0 if c & 4 else data.zigzag())) & M32
                w1 |= number[s]
        units.append((head & 0xFFFF | obj << 16, w1))
    assert data.at == len(data.data), "data is left"
    return units


def read(path):
    f = open(path, "rb").read()
    assert f[:8] == b"\x89ATM\r\n\x1a\n" and struct.unpack_from("<I", f, 60)[0] == xxh32(f[:60], 0)
    features, at, streams, ordered = struct.unpack_from("<Q", f, 16)[0], 64, {}, []
    while at + 40 <= len(f):
        magic, kind, coding, _, size, raw, thread, count, position, _, check = struct.unpack_from("<IBBHIIIIQII", f, at)
        if at + 40 + size > len(f):
            break
        payload = f[at + 40:at + 40 + size]
        assert magic == 0x434D5441 and check == xxh32(payload, xxh32(f[at:at + 36], 0)), at
        if coding == 1:
            payload = lz4(payload)
        assert len(payload) == raw
        if kind == 1:
            assert position == len(streams.setdefault(thread, []))
            streams[thread] += decode_units(payload, count)
        elif kind == 3:
            runs = Bytes(payload[4:4 + struct.unpack_from("<I", payload)[0]])
            units, t, done = decode_units(payload[4 + len(runs.data):], count), 0, 0
            while runs.at < len(runs.data):
                t += runs.zigzag()
                n = runs.varint()
                ordered.append((t, units[done:done + n]))
                done += n
        at += 40 + size
    return features, streams, ordered


def records(units):
    i = 0
    while i < len(units):
        n = 1 + (units[i][0] >> 9 & 3)
        yield units[i:i + n]
        i += n


def show(index, thread, r):
    kind, obj = r[0][0] & 63, r[0][0] >> 16
    for x in r[1:]:
        if x[0] >> 11 & 15 == 6:
            obj = x[0] >> 16
    print(index, f"T{thread}", KINDS[kind], hex(obj), f"@{0 if kind == EXPR else r[0][1] >> 32}")


def merge(streams):
    queues = {t: list(records(u)) for t, u in streams.items()}
    at, taken, numbers, index = dict.fromkeys(queues, 0), dict.fromkeys(queues, 0), {}, 0
    moved = True
    while moved:
        moved = False
        for t, q in queues.items():
            while at[t] < len(q):
                r = q[at[t]]
                kind, obj = r[0][0] & 63, r[0][0] >> 16
                keys = []
                if r[0][0] & 128:
                    keys = [(slot(0, x[0] >> 16), x[1] & M32) for x in r[1:] if x[0] >> 11 & 15 == 6]
                    keys.append((slot(kind, obj, r[0][0] & 0x8000), r[0][1] & M32))
                while taken[t] < len(keys) and numbers.get(keys[taken[t]][0], 0) == keys[taken[t]][1]:
                    numbers[keys[taken[t]][0]] = (keys[taken[t]][1] + 1) & M32
                    taken[t] += 1
                    moved = True
                if taken[t] < len(keys):
                    break
                if kind:
                    show(index, t, r)
                    index += 1
                at[t] += 1
                taken[t] = 0
                moved = True
    assert all(at[t] == len(q) for t, q in queues.items()), "not everything could be ordered"


features, streams, ordered = read(sys.argv[1])
if features & 1:
    index = 0
    for t, units in ordered:
        for r in records(units):
            if r[0][0] & 63:
                show(index, t, r)
                index += 1
else:
    merge(streams)
