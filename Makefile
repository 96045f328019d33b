# weir: one Makefile, no recursion but for the sanitizer builds.
#   make              build/weir
#   make check        all quick tests; last line "N passed, N failed, N skipped"
#   make check-long   also the dashboard in a browser, the long loops, and fresh Debian roots
#   make asan | tsan  unit tests, simulator scenarios and oracles under sanitizers
#   make fuzz         libFuzzer targets, FUZZ_SECONDS each (clang)
#   make bench        benchmarks
#   make format       clang-format over the tree
#   make V=1          show commands

BUILD ?= build
CC ?= cc
CLANG ?= clang
V ?= 0
Q = $(if $(filter 1,$(V)),,@)
say = @printf '  %-8s %s\n' $(1) $(2)

WARN = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wpointer-arith \
	-Wvla -Wundef -Wno-unused-parameter
SAN ?=
SANFLAGS = $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all,)
CPU ?= x86-64-v2
ARCH = $(if $(filter x86_64,$(shell uname -m)),-march=$(CPU),)
OPT ?= -O2
CFLAGS ?= -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -I$(BUILD) $(OPT) $(ARCH) $(WARN) $(SANFLAGS) $(CFLAGS) -pthread -MMD -MP
ALL_LDFLAGS = $(SANFLAGS) $(LDFLAGS) -pthread
LIBS = -lxdp -lbpf -luring -ljansson -lseccomp -lcap -lmicrohttpd -lssl -lcrypto -lsqlite3

core_src := $(wildcard core/*.c)
sched_src := $(wildcard sched/*.c)
io_src := $(filter-out %.bpf.c,$(wildcard io/*.c))
weirctl_src := $(wildcard mgmt/weirctl*.c)
mgmt_src := $(filter-out mgmt/main.c $(weirctl_src),$(wildcard mgmt/*.c))
objs = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

unit_tests := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c))
tools := $(patsubst tests/tools/%.c,$(BUILD)/tests/%,$(wildcard tests/tools/*.c))
benches := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
fuzzers := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
sim := $(if $(wildcard tests/sim/*.c),$(BUILD)/tests/sim,)

all: $(BUILD)/weir $(if $(weirctl_src),$(BUILD)/weirctl,)
tests: all $(unit_tests) $(tools) $(sim) $(benches)

$(BUILD)/libcore.a: $(call objs,$(core_src))
$(BUILD)/libsched.a: $(call objs,$(sched_src))
$(BUILD)/libio.a: $(call objs,$(io_src))
$(BUILD)/libmgmt.a: $(call objs,$(mgmt_src))
$(BUILD)/lib%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

weir_libs = $(BUILD)/libmgmt.a $(BUILD)/libio.a $(BUILD)/libsched.a $(BUILD)/libcore.a
pure_libs = $(BUILD)/libsched.a $(BUILD)/libcore.a

$(BUILD)/weir: $(BUILD)/obj/mgmt/main.o $(weir_libs)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/weirctl: $(call objs,$(weirctl_src)) $(weir_libs)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcurl

$(BUILD)/obj/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c -o $@ $<

# The kernel's program: compiled for the BPF machine, then embedded as bytes (io/xdp.c includes the header).
$(BUILD)/xdp.bpf.o: io/xdp.bpf.c $(wildcard io/xdp_shared.h)
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) -target bpf -O2 -g -Wall -Werror -I. \
		-I/usr/include/$(shell uname -m)-linux-gnu -c -o $@ $<
$(BUILD)/xdp_object.h: $(BUILD)/xdp.bpf.o
	$(call say,EMBED,$<)
	$(Q){ echo '// made by make from io/xdp.bpf.c'; echo 'static const unsigned char xdp_object[] __attribute__((aligned(8))) = {'; \
		od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '};'; } > $@
$(BUILD)/obj/io/xdp.o: $(BUILD)/xdp_object.h

# The dashboard: bundled once for all builds (BUILD=... shares build/web), then embedded (mgmt/assets.c includes the header).
web_src := $(wildcard web/src/*) web/index.html web/favicon.svg web/package.json web/package-lock.json web/.npmrc web/build.sh
build/web/dist/app.js: $(web_src)
	$(call say,WEB,$@)
	$(Q)web/build.sh build/web
$(BUILD)/web_assets.h: build/web/dist/app.js web/embed.sh
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && web/embed.sh build/web/dist > $@.new && mv $@.new $@
$(BUILD)/obj/mgmt/assets.o: $(BUILD)/web_assets.h

# Unit tests link every layer; a test that includes a product .c to reach its statics names it, and the archive's
# copy of that object is then not pulled in.
$(BUILD)/tests/test_%: $(BUILD)/obj/tests/unit/test_%.o $(weir_libs)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka -lm
$(BUILD)/tests/sim: $(call objs,$(wildcard tests/sim/*.c tests/oracle/*.c)) $(pure_libs)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ -lgmp -lm
$(BUILD)/tests/test_hfsc_oracle: $(BUILD)/obj/tests/oracle/hfsc_oracle.o
$(BUILD)/tests/test_hfsc_oracle: LIBS += -lgmp
$(tools): $(BUILD)/tests/%: $(BUILD)/obj/tests/tools/%.o
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ -lm $(TOOL_LIBS)
$(BUILD)/tests/rudeclient: TOOL_LIBS = -lssl -lcrypto
$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(weir_libs)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lm
$(BUILD)/fuzz/%: tests/fuzz/%.c $(core_src) $(sched_src) $(io_src) $(mgmt_src) $(BUILD)/xdp_object.h $(BUILD)/web_assets.h
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) -std=c11 -D_GNU_SOURCE -I. -I$(BUILD) -g -O1 -fsanitize=fuzzer,address,undefined \
		-pthread -o $@ $< $(core_src) $(sched_src) $(io_src) $(mgmt_src) $(LIBS) -lm

check: tests
	$(Q)tests/run.sh $(BUILD)
check-long: tests
	$(Q)tests/run.sh --long $(BUILD)
asan:
	$(Q)$(MAKE) --no-print-directory BUILD=build/asan SAN=address,undefined OPT=-O1 tests
	$(Q)tests/run.sh --sanitizer build/asan
tsan:
	$(Q)$(MAKE) --no-print-directory BUILD=build/tsan SAN=thread OPT=-O1 tests
	$(Q)tests/run.sh --sanitizer build/tsan
FUZZ_SECONDS ?= 30
fuzz: $(fuzzers)
	$(Q)for f in $(fuzzers); do tests/fuzz/run.sh $$f $(FUZZ_SECONDS) || exit 1; done
bench: $(benches)
	$(Q)for b in $(benches); do $$b || exit 1; done
demo: all tests
	$(Q)packaging/demo.sh
format:
	$(Q)clang-format -i $(wildcard core/*.[ch] sched/*.[ch] io/*.[ch] mgmt/*.[ch] tests/*/*.[ch])
clean:
	rm -rf build

.PHONY: all tests check check-long asan tsan fuzz bench demo format clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
