/*
 * Loads libraries and calls into them: loader [-b] [-n TIMES] LIBRARY FUNCTION. -b: RTLD_DEEPBIND.
 * A library without a slash is found by this program's own search path, or not at all.
 */
/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int flags = RTLD_NOW, times = 3, c;

	while ((c = getopt(argc, argv, "bn:")) != -1) {
		if (c == 'b')
			flags |= RTLD_DEEPBIND;
		if (c == 'n')
			times = atoi(optarg);
	}
	if (argc - optind < 2)
		return 2;
	for (int i = 0; i < times; i++) {
		void *lib = dlopen(argv[optind], flags);
		if (!lib) {
			printf("no library: %s\n", dlerror());
			return 3;
		}
		long (*run)(long) = (long (*)(long))dlsym(lib, argv[optind + 1]);
		printf("run: %ld\n", run ? run(100) : -1);
		printf("missing: %d\n", dlsym(lib, "no_such_symbol") == NULL && dlerror() != NULL);
		printf("close: %d\n", dlclose(lib));
	}
	return 30;
}
