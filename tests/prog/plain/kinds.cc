/*
 * One kind of data after another, of C and of libstdc++: a region looks at it in one critical section and acts
 * on it in the next, and another thread changes it in between; right: in one section. kinds lists them,
 * kinds NUMBER wrong|right runs one. Whether it is seen depends on whether the accesses are, which the
 * compiler and the libraries make in many ways. Region: region.
 */
/* SPDX-License-Identifier: MIT */
#include <algorithm>
#include <any>
#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <semaphore.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <variant>
#include <vector>

namespace
{

struct Kind {
	const char *name;
	std::function<long()> look;
	std::function<void()> change;
	std::function<void(long)> act;
};

std::mutex mutex;
sem_t looked, changed;
const Kind *kind;
bool is_right;
volatile long sink;

[[gnu::noinline]] void region()
{
	std::unique_lock<std::mutex> hold(mutex);
	const long seen = kind->look();

	if (!is_right) {
		hold.unlock();
		sem_post(&looked);
		sem_wait(&changed);
		hold.lock();
	}
	kind->act(seen);
}

[[gnu::noinline]] void other()
{
	if (!is_right)
		sem_wait(&looked);
	{
		const std::lock_guard<std::mutex> hold(mutex);
		kind->change();
	}
	if (!is_right)
		sem_post(&changed);
}

std::map<int, int> map, big;
std::map<std::string, std::string> words;
std::multimap<int, int> multimap;
std::set<int> set;
std::list<int> list;
std::deque<int> deque;
std::forward_list<int> chain;
std::unordered_map<int, int> table;
std::priority_queue<int> heap;
std::vector<int> vector{1, 2, 3};
std::vector<bool> bits(64);
std::bitset<64> bitset;
std::string text, *owned = new std::string("abc");
std::optional<int> optional;
std::variant<int, double> variant;
std::any any;
std::function<int()> function = [] { return 1; };
std::shared_ptr<int> shared = std::make_shared<int>(1);
std::weak_ptr<int> weak;
std::unique_ptr<int> unique;
char buffer[64] = "7";
int array[6] = {4, 3, 2, 1};
struct {
	char bytes[24];
} record, copy;
FILE *file;
int ends[2];

int by_size(const void *a, const void *b)
{
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

long sum()
{
	long n = 0;
	for (const auto &each : big)
		n += each.first;
	return n;
}

const Kind kinds[] = {
	{"map, find and insert", [] { return long(map.count(1)); }, [] { map.insert({1, 2}); },
	 [](long seen) { if (!seen) map[1] = 3; }},
	{"map, find and erase", [] { map[9] = 1; return long(map.count(9)); }, [] { map.erase(9); },
	 [](long seen) { sink = seen + (map.find(9) != map.end()); }},
	{"map of many", [] { return long(big.count(51)); }, [] { big[51] = 1; }, [](long seen) { if (!seen) big[51] = 2; }},
	{"map, walked", [] { return sum(); }, [] { big[1001] = 1; }, [](long seen) { sink = seen + sum(); }},
	{"map, walked back", [] { return long(big.rbegin()->first); }, [] { big[1003] = 1; },
	 [](long seen) { sink = seen + std::prev(big.end())->first; }},
	{"map of strings", [] { return long(words.count("k")); }, [] { words["k"] = "1"; },
	 [](long seen) { if (!seen) words["k"] = "2"; }},
	{"multimap", [] { return long(multimap.count(1)); }, [] { multimap.insert({1, 1}); },
	 [](long seen) { if (!seen) multimap.insert({1, 2}); }},
	{"set", [] { return long(set.count(5)); }, [] { set.insert(5); }, [](long seen) { if (!seen) set.insert(5); }},
	{"list, empty and push", [] { return long(list.empty()); }, [] { list.push_back(1); },
	 [](long seen) { if (seen) list.push_back(2); }},
	{"list, front and pop", [] { list.push_front(3); return long(list.front()); }, [] { if (!list.empty()) list.pop_front(); },
	 [](long seen) { sink = seen; if (!list.empty()) list.pop_front(); }},
	{"list, spliced", [] { return long(list.empty()); }, [] { std::list<int> more{1, 2}; list.splice(list.end(), more); },
	 [](long seen) { if (seen) list.push_back(2); }},
	{"forward list", [] { return long(chain.empty()); }, [] { chain.push_front(1); },
	 [](long seen) { if (seen) chain.push_front(2); }},
	{"deque", [] { return long(deque.empty()); }, [] { deque.push_back(1); }, [](long seen) { if (seen) deque.push_back(2); }},
	{"hash table", [] { return long(table.count(1)); }, [] { table[1] = 1; }, [](long seen) { if (!seen) table[1] = 2; }},
	{"heap", [] { return long(heap.empty()); }, [] { heap.push(3); }, [](long seen) { if (seen) heap.push(4); }},
	{"vector", [] { return long(vector.size()); }, [] { vector.push_back(1); }, [](long seen) { vector.push_back(int(seen)); }},
	{"vector of bits", [] { return long(bits[3]); }, [] { bits[3] = true; }, [](long seen) { if (!seen) bits[3] = true; }},
	{"bitset", [] { return long(bitset.test(3)); }, [] { bitset.set(3); }, [](long seen) { if (!seen) bitset.set(3); }},
	{"string, empty and append", [] { return long(text.empty()); }, [] { text += "owner"; },
	 [](long seen) { if (seen) text += "me"; }},
	{"string, compared and assigned", [] { return long(text == "zz"); }, [] { text = "zz"; },
	 [](long seen) { if (!seen) text = "yy"; }},
	{"string, long", [] { return long(owned->size()); }, [] { *owned = std::string(40, 'x'); },
	 [](long seen) { *owned = std::string(std::size_t(seen), 'y'); }},
	{"string, cleared", [] { return long(owned->length()); }, [] { owned->clear(); },
	 [](long seen) { sink = seen; owned->append("q"); }},
	{"string, a character", [] { return long((*owned)[1]); }, [] { (*owned)[1] = 'u'; },
	 [](long seen) { (*owned)[1] = char(seen + 1); }},
	{"string, resized", [] { return long(owned->size()); }, [] { owned->resize(9); },
	 [](long seen) { owned->resize(std::size_t(seen) + 1); }},
	{"string, inserted", [] { return long(std::strlen(owned->c_str())); }, [] { owned->insert(0, "abcdefgh"); },
	 [](long seen) { sink = seen; owned->insert(0, "x"); }},
	{"optional", [] { return long(optional.has_value()); }, [] { optional = 4; }, [](long seen) { if (!seen) optional = 5; }},
	{"variant", [] { return long(variant.index()); }, [] { variant = 4.0; }, [](long seen) { if (!seen) variant = 5; }},
	{"any", [] { return long(any.has_value()); }, [] { any = 4; }, [](long seen) { if (!seen) any = 5; }},
	{"function", [] { return long(bool(function)); }, [] { function = nullptr; },
	 [](long seen) { if (seen) function = [] { return 2; }; }},
	{"shared pointer", [] { return long(*shared); }, [] { shared = std::make_shared<int>(7); },
	 [](long seen) { shared = std::make_shared<int>(int(seen) + 1); }},
	{"weak pointer", [] { weak = shared; return long(weak.expired()); }, [] { shared.reset(); },
	 [](long seen) { if (!seen) sink = weak.lock() != nullptr; }},
	{"unique pointer", [] { return long(bool(unique)); }, [] { unique.reset(new int(3)); },
	 [](long seen) { if (!seen) unique.reset(new int(4)); }},
	{"struct, copied", [] { copy = record; return 0L; }, [] { record.bytes[7]++; }, [](long) { record = copy; }},
	{"memcpy of a known size", [] { std::memcpy(&copy, &record, sizeof copy); return 0L; }, [] { record.bytes[7]++; },
	 [](long) { std::memcpy(&record, &copy, sizeof record); }},
	{"memset of a known size", [] { return long(record.bytes[9]); }, [] { std::memset(&record, 1, sizeof record); },
	 [](long seen) { record.bytes[9] = char(seen + 1); }},
	{"memcmp of a known size", [] { return long(std::memcmp(&copy, &record, 8) == 0); }, [] { record.bytes[1]++; },
	 [](long seen) { record.bytes[1] = char(seen); }},
	{"strcpy of a literal", [] { return long(buffer[0]); }, [] { std::strcpy(buffer, "11"); },
	 [](long seen) { buffer[0] = char(seen + 1); }},
	{"strcmp with a literal", [] { return long(std::strcmp(buffer, "9") == 0); }, [] { buffer[0] = '9'; },
	 [](long seen) { if (!seen) buffer[0] = '8'; }},
	{"snprintf of a literal", [] { return long(buffer[0]); }, [] { std::snprintf(buffer, sizeof buffer, "11"); },
	 [](long seen) { buffer[0] = char(seen + 1); }},
	{"strtol", [] { return std::strtol(buffer, nullptr, 10); }, [] { buffer[0] = '8'; },
	 [](long seen) { buffer[0] = char('1' + seen); }},
	{"sscanf", [] { int n = 0; return long(std::sscanf(buffer, "%d", &n)) + n; }, [] { buffer[0] = '8'; },
	 [](long seen) { buffer[0] = char('0' + seen % 9); }},
	{"strcspn", [] { return long(std::strcspn(buffer, ":")); }, [] { buffer[0] = ':'; }, [](long seen) { buffer[0] = char(seen); }},
	{"strsep", [] { return long(buffer[1]); },
	 [] { char *rest = buffer; std::memcpy(buffer + 2, "x", 2); buffer[1] = ' '; sink = long(strsep(&rest, " ")); },
	 [](long seen) { buffer[1] = char(seen); }},
	{"read", [] { return long(buffer[0]); }, [] { if (write(ends[1], "zz", 2) + read(ends[0], buffer, 2) != 4) std::abort(); },
	 [](long seen) { buffer[0] = char(seen + 1); }},
	{"write", [] { return long(write(ends[1], buffer, 2)); }, [] { buffer[0]++; },
	 [](long seen) { sink = seen + long(write(ends[1], buffer, 2)); }},
	{"fwrite", [] { return long(std::fwrite(buffer, 1, 4, file)); }, [] { buffer[1]++; },
	 [](long seen) { sink = seen + long(std::fwrite(buffer, 1, 4, file)); }},
	{"fgets", [] { return long(buffer[0]); }, [] { std::rewind(file); sink = long(std::fgets(buffer, 5, file)); },
	 [](long seen) { buffer[0] = char(seen + 1); }},
	{"qsort", [] { return long(array[0]); }, [] { std::qsort(array, 4, sizeof *array, by_size); },
	 [](long seen) { array[0] = int(seen) + 1; }},
	{"sort", [] { return long(vector[0]); }, [] { std::sort(vector.begin(), vector.end(), std::greater<int>()); },
	 [](long seen) { vector[0] = int(seen) + 1; }},
	{"copy", [] { return long(array[5]); }, [] { const int from[6] = {9, 9, 9, 9, 9, 9}; std::copy(from, from + 6, array); },
	 [](long seen) { array[5] = int(seen) + 1; }},
	{"fill", [] { return long(array[5]); }, [] { std::fill(array, array + 6, 0); }, [](long seen) { array[5] = int(seen) + 1; }},
};

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3) {
		for (const auto &each : kinds)
			std::puts(each.name);
		return 0;
	}
	kind = &kinds[std::atoi(argv[1])];
	is_right = std::strcmp(argv[2], "right") == 0;
	file = std::tmpfile();
	if (!file || pipe(ends) != 0 || std::fputs("abcd", file) < 0)
		return 2;
	for (int i = 0; i < 100; i++)
		big[i * 2] = i;
	sem_init(&looked, 0, 0);
	sem_init(&changed, 0, 0);
	std::thread first(region), second(other);
	first.join();
	second.join();
	return 0;
}
