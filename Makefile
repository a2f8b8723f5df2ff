# A thin door to CMake and CTest. Every target installs what it needs and is missing.
#
#   make demo         build, train, say what it shows
#   make check        build and test
#   make check-all    the long suites: sanitizers, fuzzers, PyTorch, both compilers
#   make bench        this machine's peaks and the kernels against them
#   make bench-peers  kolm and PyTorch side by side (PEER_PYTHON=... for another Python,
#                     PEER_OPTIONS=... for compare.py; docs/peers.md)
#   make bench-generate  kolm and transformers write (PEER_PYTHON=... that has it)
#   make format, make tidy, make install, make clean

BUILD   ?= build
JOBS    ?= $(shell nproc)
WERROR  ?= OFF
PREFIX  ?= /usr/local
PEER_PYTHON ?= /usr/bin/python3

.PHONY: all demo check check-all bench bench-peers bench-generate format format-check tidy install clean setup setup-check

all: setup
	@cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DKOLM_WERROR=$(WERROR) \
		-DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

setup:
	@scripts/bootstrap build --optional tests pdf zip zlib

# Ranks on several machines and random trouble are tested too; building and training go without.
setup-check:
	@scripts/bootstrap build --optional tests pdf zip zlib mpi gpu abuse

demo: all
	@scripts/demo $(BUILD)

check: setup-check all
	@[ -e $(BUILD)/tests/CTestTestfile.cmake ] || \
		{ echo "the tests are off: cmocka was not found when kolm was built; install libcmocka-dev" >&2; exit 1; }
	@ctest --test-dir $(BUILD) --output-on-failure --timeout 300 -j $(JOBS)

check-all: check
	@scripts/check-all

bench: all
	@scripts/bootstrap bench
	@$(BUILD)/kolm bench peak
	@$(BUILD)/kolm bench gemm
	@$(BUILD)/kolm bench kernels

bench-peers: all
	@scripts/bootstrap $(if $(filter /usr/bin/python3,$(PEER_PYTHON)),peers)
	@$(PEER_PYTHON) bench/peers/compare.py --kolm $(BUILD)/kolm $(PEER_OPTIONS)

bench-generate: all
	@$(PEER_PYTHON) bench/peers/generate.py --kolm $(BUILD)/kolm $(PEER_OPTIONS)

format:
	@scripts/bootstrap format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

format-check:
	@scripts/bootstrap format
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror

tidy: all
	@scripts/bootstrap tidy
	@git ls-files 'src/*.c' | xargs -P $(JOBS) -n 4 clang-tidy -p $(BUILD) --quiet

install: all
	@cmake --install $(BUILD)

clean:
	@rm -rf $(BUILD) $(BUILD).log build build-*
