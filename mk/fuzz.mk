# fuzz.mk: targets of libFuzzer under sanitizers, from sources compiled by clang; kernels and formats come from the
# build.

fuzz_src     := $(wildcard test/fuzz/fuzz_*.c)
fuzzers      := $(fuzz_src:test/fuzz/%.c=build/fuzz/%)
fuzz_objects := $(patsubst %.c,build/fuzz/%.o,$(filter src/%,$(lib_src)) $(filter-out $(named),$(app_src)))
FUZZ_CC ?= clang
FUZZ_OPT ?= -O1# compiling takes three times as long as with -O0
fuzz_flags = -std=gnu11 -gline-tables-only $(FUZZ_OPT) -fopenmp -fsanitize=fuzzer-no-link,address,undefined \
             -fno-sanitize-recover=all -fno-omit-frame-pointer -D_GNU_SOURCE -DSPMV_FUZZING \
             $(includes) -I$(omp) $(feature_flags)

# RUNS: total number of inputs of each target, a million, including earlier calls. ONLY=NAME: one target.
fuzz: $(fuzzers)
	$(Q)RUNS=$(or $(RUNS),1000000) PYTHON=$(PYTHON) sh test/fuzz/run.sh $(ONLY)
.PHONY: fuzz

$(fuzz_objects) $(fuzz_src:%.c=build/fuzz/%.o) build/fuzz/test/fuzz/powers.o: build/fuzz/%.o: %.c $(omp)/.features \
    $(omp)/build_info.h
	@echo "  FUZZ   $@"
	$(Q)mkdir -p $(@D) && $(FUZZ_CC) $(fuzz_flags) -MMD -MP -c $< -o $@
$(fuzzers): build/fuzz/%: build/fuzz/test/fuzz/%.o build/fuzz/test/fuzz/powers.o $(fuzz_objects) \
    $(omp)/src/app/record/record.o $(omp)/parts.a
	$(Q)$(FUZZ_CC) -fopenmp -fsanitize=fuzzer,address,undefined -Wl,--wrap=spmv_powers_init \
	    $(if $(findstring options,$@),-Wl$(comma)--wrap=exit) -o $@ $(filter %.o %.a,$^) $(ldlibs)
-include $(if $(filter fuzz,$(goals)),$(shell find build/fuzz -name '*.d' 2>/dev/null))
