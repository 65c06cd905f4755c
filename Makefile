# spmv: make help | omp | cuda | install | test | tables | lint | format | info | deps | docs | deb | clean       (docs/, CONTRIBUTING.md)
# One file. Objects live in build/<backend>[-san]/: switching back and forth recompiles nothing. gcc's are for both, in omp's.

# ---- goals: those that remove or install run first, and make reads this file again: it looks for what is installed -----
firsts := clean deps deps-peers
first  := $(filter $(firsts),$(MAKECMDGOALS))
goals  := $(filter-out $(first),$(MAKECMDGOALS))
ifeq ($(MAKELEVEL)$(word 2,$(or $(goals),$(first)))$(filter -j%,$(shell printenv MAKEFLAGS)),0) # several goals: one after the other
MAKEFLAGS += -j$(shell nproc) # -j N of the command line is stronger
endif
flags  := $(firstword -$(MAKEFLAGS))
done_first := $(if $(and $(first),$(goals)),@:)
ifneq ($(if $(strip $(MAKE_RESTARTS) $(foreach f,n q t,$(findstring $f,$(flags)))),,$(done_first)),)
include $(shell rm -f build/.first)build/.first
build/.first:
	$(Q)MAKEFLAGS= $(MAKE) $(findstring -s,-$(findstring s,$(flags))) --no-print-directory $(first) && mkdir -p build && touch $@
endif

# ---- settings: make NAME=value; WERROR=1, V=1 ----------------------------------------------------------------------
# What was given once is remembered: the command line is stronger than the environment, that than build/settings.
settings := CC OPT MARCH CUDA_ARCH LIBS_WANTED MKLROOT AOCLROOT
-include $(if $(filter clean,$(MAKECMDGOALS)),,build/settings)# was_NAME for every NAME that was given, as it was written
given     = $(filter-out default undefined,$(origin $(1)))
$(foreach s,$(settings) CFLAGS NVCC WERROR SAN BUILD PYTHON,$(eval from_$(s) := $(or $(call given,$(s)),$(if $(call given,was_$(s)),remembered,default))))
$(foreach s,$(settings),$(if $(filter remembered,$(from_$(s))),$(eval $(s) = $$(was_$(s)))))
quoted    = '$(subst ','\'',$(1))'
remember  = $(if $(filter-out default,$(from_$(1))),'define was_$(1)' $(call quoted,$(value $(if $(filter remembered,$(from_$(1))),was_)$(1))) endef)
$(if $(filter default,$(from_CC)),$(eval CC := gcc))
OPT       ?= $(if $(SAN),-O1,-O3)
MARCH     ?= native
CUDA_ARCH ?= $(if $(wildcard /dev/nvidia0),native,sm_90)
$(if $(and $(filter cuda,$(goals)),$(filter default,$(from_CUDA_ARCH)),$(filter sm_90,$(CUDA_ARCH))),$(info   no GPU here: for an H100, H200 or newer; CUDA_ARCH=sm_80: for an A100, all-major: for every one))
NVCC      ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
LIBS_WANTED ?= libarchive zlib jansson hwloc librsb mkl aocl cusparse
MKLROOT   ?= .peers

features :=
Q := $(if $(V),,@)
comma := ,
space := $() $()
san := $(if $(SAN),-san,)
found := $(foreach l,$(filter-out mkl aocl cusparse,$(LIBS_WANTED)),$(if $(shell pkg-config --exists $(l) 2>/dev/null && echo y),$(l)))
# Only the files that ask for a library know of it: another library, or none, recompiles those alone.
featured      := $(shell grep -ls 'HAVE_' $$(find src omp test/unit -name '*.c'))
feature_flags := $(foreach l,$(found),-DHAVE_$(shell echo $(l) | tr a-z A-Z) $(shell pkg-config --cflags $(l)))
# The program alone links jansson and hwloc; libarchive is opened at run time, and the tests write archives with it.
package_libs = $(foreach l,$(filter $(1),$(found)),$(shell pkg-config --libs $(l)))
# oneMKL is files under MKLROOT, not a pkg-config package; of cuSPARSE the CUDA toolkit's header, the library is opened at run time.
mkl_lib = $(firstword $(wildcard $(abspath $(MKLROOT))/lib/$(1).so*))
mkl := $(if $(filter mkl,$(LIBS_WANTED)),$(and $(wildcard $(MKLROOT)/include/mkl_spblas.h),\
       $(foreach l,libmkl_intel_lp64 libmkl_gnu_thread libmkl_core,$(call mkl_lib,$(l)))))
# AOCL-Sparse, of AMD's package or PyPI's aoclda, is opened by its path when it is first asked for.
aocl := $(if $(filter aocl,$(LIBS_WANTED)),$(firstword $(wildcard $(addprefix $(abspath $(or $(AOCLROOT),$(MKLROOT)/aocl))/,lib/libaoclsparse.so aoclda.libs/libaoclsparse*.so*))))
found := $(strip $(found) $(if $(mkl),mkl) $(if $(aocl),aocl))
feature_flags += $(if $(mkl),-DHAVE_MKL -isystem $(MKLROOT)/include) $(if $(aocl),-DHAVE_AOCL '-DAOCL_LIBRARY="$(aocl)"')
lib_libs := $(call package_libs,zlib librsb) $(if $(mkl),$(addprefix -Xlinker ,--no-as-needed $(mkl) -rpath=$(abspath $(MKLROOT))/lib) -lgomp) -lm -ldl
cusparse = $(eval cusparse := $(if $(filter cusparse,$(LIBS_WANTED)),$(shell \
           echo '\#include <cusparse.h>' | $(NVCC) -E -x cu - >/dev/null 2>&1 && echo y)))$(cusparse)

soname   := libspmv.so.$(shell sed -n 's/^SPMV_\([0-9]*\) {/\1/p' src/install/exports.map)
known = $(shell $(CC) -Werror $(1) -E -x c /dev/null >/dev/null 2>&1 && echo '$(1)')# the flag, where the compiler has it
warnings := -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes $(call known,-Wjump-misses-init) $(if $(WERROR),-Werror)
CFLAGS   ?= $(OPT) -march=$(MARCH) -g
hidden   := -fPIC -fvisibility=hidden# for libspmv.so; the program's are the same objects
cflags   := -std=gnu11 $(CFLAGS) $(hidden) -fno-semantic-interposition -fopenmp $(warnings) -Iinclude -Isrc -I. -D_GNU_SOURCE $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-var-tracking)
# gcc 12 makes gather instructions of loops over x[col[k]], which take two to four times as long as loads since
# Intel's microcode against Downfall (csr_rows in f32: 24 ms instead of 11). Kernels where they may pay ask gather.c and
# write them out. Only names that this compiler knows: none with clang and on other architectures.
loads    := $(foreach n,_2parts _4parts _8parts :,$(call known,-mtune-ctrl=^use_gather$(n::=)))
loads    := $(subst $(space)-mtune-ctrl=,$(comma),$(strip $(loads)))
nvflags  := -std=c++14 $(OPT) -arch=$(CUDA_ARCH) -Xcompiler=-fopenmp,-Wall,$(subst $(space),$(comma),$(hidden)) $(if $(WERROR),-Werror all-warnings) -Iinclude -Isrc -I.
ldlibs   := $(call package_libs,jansson hwloc) $(lib_libs)

# ---- sources -------------------------------------------------------------------------------------------------------
# A folder says how its files are compiled: once, or once per variant of precision and offset width (features_*.c: once).
app_src  := $(wildcard src/app/*.c src/app/*/*.c)
lib_src  := $(filter-out src/app/%,$(wildcard src/*.c src/*/*.c src/core/*/*.c src/formats/*/features_*.c omp/*.c)) cuda/propose.c cuda/cusparse_library.c
variant_src := $(filter-out $(lib_src),$(wildcard src/formats/*/*.c omp/*/*.c))
cuda_once := $(wildcard cuda/*.cu)
cuda_variant_src := $(wildcard cuda/*/*.cu)
# Files without offsets, or with 32-bit ones only, are compiled once per precision and export both names (include/spmv_export.h).
any_offsets := $(wildcard cuda/peers/*.cu) $(shell grep -ls 'EXPORT_\(ANY_OFFSETS\|NARROW\)_' src/formats/*/*.c omp/*/*.c cuda/*/*.cu)
unit_src := $(wildcard test/unit/test_*.c)

variants := f64_o32 f64_o64 f32_o32 f32_o64
variant_flags = -DSPMV_SUFFIX=$(1) -DSPMV_REAL=$(if $(findstring f64,$(1)),double,float) \
                -DSPMV_OFS=$(if $(findstring o64,$(1)),int64_t,int32_t)
compiled_in = $(filter-out $(if $(findstring o64,$(1)),$(any_offsets)),$(2))# the sources, of the variant
objects = $(patsubst %.c,build/$(1)/%.o,$(2)) $(foreach v,$(variants),$(patsubst %.c,build/$(1)/%.$(v).o,$(call compiled_in,$(v),$(3))))
named := src/app/main.c src/app/record/record.c# say which build they are of: each has its own

.DEFAULT_GOAL := omp
.PHONY: omp cuda test check check-update test-cuda petsc test-petsc bench-petsc bench-read bench-convert bench-threads bench-ready bench-solver bench-upload bench-values study-sell study-cmrs study-ci study-omp-cuda tables reference reference-tables outside help install uninstall deb test-deb test-python-binding lint format info $(firsts) force remember
.SECONDARY:

# ---- build rules, once a backend: $(1) is omp or cuda, $(2) its folder under build/ ---------------------------------
define backend_rules
lib_$(1) := $$(call objects,omp$(san),$$(lib_src),$$(variant_src)) $$(cuda_objects_$(1))
app_$(1) := $$(call objects,$(2),$$(named)) $$(call objects,omp$(san),$$(filter-out $$(named),$$(app_src)))
tests_$(1) := $$(patsubst test/unit/%.c,build/$(2)/test/%,$$(unit_src))

$(1): build/$(2)/spmv build/$(2)/libspmv.a build/$(2)/libspmv.so
	$$(Q)ln -sf build/$(2)/spmv spmv
	@echo "  ready  ./spmv  [$(1)]   optional libraries: $$(or $$(found),none) (all optional)"
build/$(2)/spmv build/$(2)/spmv-wrong: $$(app_$(1)) build/$(2)/parts.a build/$(2)/.features
	@echo "  LINK   $$@"
	$$(Q)$$(link_$(1)) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(ldlibs)
build/$(2)/spmv-wrong: $$(call objects,omp$$(san),,test/wrong.c)# in front of the library: they replace kernels of it
build/$(2)/parts.a: $$(lib_$(1)) build/$(2)/.objects# a source that is gone leaves the library
	$$(Q)rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
# Both hold for others what include/spmv.h and spmv_bench.h declare: the rest is hidden in the one, local in the other.
build/$(2)/libspmv.so: $$(lib_$(1)) build/$(2)/.objects build/$(2)/.features src/install/exports.map
	@echo "  LINK   $$@"
	$$(Q)$$(link_$(1)) -shared $$(addprefix -Xlinker ,-soname=$$(soname) --version-script=src/install/exports.map -Bsymbolic-functions --as-needed) -o $$@ $$(filter %.o,$$^) $$(lib_libs)
	$$(Q)ln -sf libspmv.so $$(@D)/$$(soname) && echo '$$(lib_libs)' >$$(@D)/.libs
build/$(2)/libspmv.a: $$(lib_$(1)) build/$(2)/.objects
	$$(Q)$$(CC) -r -nostdlib -Xlinker --force-group-allocation -Xlinker -d -o $$(@D)/libspmv.o $$(filter %.o,$$^)
	$$(Q)objcopy -w --localize-hidden --keep-global-symbol='spmv_*' $$(@D)/libspmv.o && rm -f $$@ && ar rcs $$@ $$(@D)/libspmv.o && rm $$(@D)/libspmv.o
build/$(2)/test/%: build/omp$(san)/test/unit/%.o $$(filter-out build/$(2)/src/app/main.o,$$(app_$(1))) build/$(2)/parts.a build/$(2)/.features
	$$(Q)mkdir -p $$(@D) && $$(link_$(1)) -o $$@ $$(filter-out %/.features,$$^) $$(ldlibs) $$(call package_libs,libarchive) -lcmocka
build/$(2)/bench_%: build/omp$(san)/test/bench_%.o build/$(2)/parts.a ; $$(Q)$$(link_$(1)) -o $$@ $$^ $$(ldlibs)
build/$(2)/%.o: %.c build/$(2)/.flags
	@echo "  CC     $$@"
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(cflags) $$(features) -Ibuild/$(2) -MMD -MP -c $$< -o $$@
$(addprefix build/$(2)/src/,app/record/record.o wisdom/wisdom_key.o): build/$(2)/build_info.h
$(foreach v,$(variants),
build/$(2)/%.$(v).o: %.c build/$(2)/.flags
	@echo "  CC     $$@"
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(cflags) $$(loads) $$(features) $(call variant_flags,$(v)) -MMD -MP -c $$< -o $$@
build/$(2)/%.$(v).o: %.cu build/$(2)/.flags
	@echo "  NVCC   $$@"
	$$(Q)mkdir -p $$(@D) && $$(nvcc) $$(nvflags) $$(if $$(cusparse),-DHAVE_CUSPARSE) $(call variant_flags,$(v)) -MMD -MP -c $$< -o $$@
)
build/$(2)/.flags: remember
	$$(Q)sh src/app/changed.sh $$@ $$(call quoted,$$(CC) $$(cflags) $$(loads) $$(flags_$(1))) build/$(2)
build/$(2)/.features: remember
	$$(Q)sh src/app/changed.sh $$@ $$(call quoted,$$(feature_flags) $$(ldlibs)) 'what asks for libraries in build/$(2)'
build/$(2)/.objects: remember; $$(Q)sh src/app/changed.sh $$@ '$$(lib_$(1)) $$(app_$(1))'
asking_$(1) := $$(call objects,$(2),$$(filter-out $$(variant_src),$$(featured)),$$(filter $$(variant_src),$$(featured)))
$$(asking_$(1)): build/$(2)/.features
$$(asking_$(1)): features = $$(feature_flags)
build/$(2)/build_info.h: force
	$$(Q)mkdir -p $$(@D) && sh src/app/record/build_info.sh $$(call quoted,$$(CC)) $$(call quoted,$$(cflags) $$(loads)) '$$(if $$(flags_$(1)),$$(NVCC))' '$$(nvflags)' \
	    '$$(CUDA_ARCH)' '$$(found)' > $$@.new && (cmp -s $$@.new $$@ && rm $$@.new || mv $$@.new $$@)
-include $$(patsubst %.o,%.d,$$(lib_$(1)) $$(app_$(1)) $$(call objects,omp$$(san),,test/wrong.c)) $$(patsubst %.c,build/omp$(san)/%.d,$$(unit_src) test/bench_read.c test/bench_convert.c test/bench_threads.c test/bench_propose.c test/bench_ready.c test/bench_solver.c test/bench_values.c)
endef
remember: ; $(Q)sh src/app/changed.sh build/settings "$$(printf '%s\n' $(foreach s,$(settings),$(call remember,$(s))))"
cuda_objects_omp  := build/omp$(san)/cuda/absent.o
cuda_objects_cuda := $(patsubst %.cu,build/cuda$(san)/%.o,$(cuda_once)) $(foreach v,$(variants),$(patsubst %.cu,build/cuda$(san)/%.$(v).o,$(call compiled_in,$(v),$(cuda_variant_src))))
link_omp  = $(CC) $(cflags)
nvcc      = $(or $(NVCC),$(error make cuda: no nvcc in PATH, CUDA_HOME or /usr/local/cuda. Install the CUDA toolkit, or \
            name it: make cuda NVCC=/path/to/nvcc. 'make omp' needs none))
link_cuda = $(nvcc) -arch=$(CUDA_ARCH) -Xcompiler=-fopenmp$(if $(SAN),$(comma)-fsanitize=$(SAN))
flags_cuda = $(NVCC) $(nvflags) $(if $(cusparse),cusparse)
$(eval $(call backend_rules,omp,omp$(san)))
$(eval $(call backend_rules,cuda,cuda$(san)))
# main.c and cuda_once are the files that nvcc compiles once; -x cu defines __CUDACC__ (nvcc main.c would not).
build/cuda$(san)/src/app/main.o: src/app/main.c build/cuda$(san)/.flags
	@echo "  NVCC   $@"
	$(Q)mkdir -p $(@D) && $(nvcc) $(nvflags) -x cu -MMD -MP -c $< -o $@
build/omp$(san)/cuda/cusparse_library.o: features = -DFETCHED_CUSPARSE='"$(CURDIR)/.peers/cusparse/nvidia/cu13/lib/libcusparse.so.12"'
# CUB wants C++17 (headers of C++14 take a third less time), asserts, and has names that objcopy cannot make local.
build/cuda$(san)/cuda/scan.o: nvflags := $(subst c++14,c++17,$(nvflags)) -DNDEBUG -Xcompiler=-fno-gnu-unique
# Peers without device code: gcc alone compiles them, in a third of the time.
$(foreach p,csr_alg1 csr_alg2 bsr spmvop_alg1 spmvop_alg2,build/cuda$(san)/cuda/peers/cusparse_$(p).%.o): nvflags += -x c++
build/cuda$(san)/test/test_kernels_in_turn: build/cuda$(san)/test/unit/hasty.o
$(addprefix build/cuda$(san)/test/test_,apply streams): build/cuda$(san)/test/unit/streams.o
build/cuda$(san)/test/test_streams: build/cuda$(san)/test/unit/hasty.o
build/cuda$(san)/test/test_streams build/cuda/bench_solver: build/cuda$(san)/test/solver.o
$(addprefix build/cuda$(san)/test/test_,allocator device_memory peak source source_tuning upload): build/cuda$(san)/test/unit/sources.o
$(patsubst %.cu,build/cuda$(san)/%.o,$(cuda_once) test/solver.cu test/bench_upload.cu $(wildcard test/unit/*.cu)): build/cuda$(san)/%.o: %.cu build/cuda$(san)/.flags
	@echo "  NVCC   $@"
	$(Q)mkdir -p $(@D) && $(nvcc) $(nvflags) -MMD -MP -c $< -o $@

# ---- check ---------------------------------------------------------------------------------------------------------
# `make test`; BUILD=cuda: of the CUDA build; SAN=address,undefined: under sanitizers; PART=unit, cli or python; JOBS=N: so many at once.
BUILD  ?= omp
PYTHON ?= python3
check test: $(BUILD) $(tests_$(BUILD)) build/$(BUILD)$(san)/spmv-wrong
	$(Q)PYTHON=$(PYTHON) CC=$(call quoted,$(CC)) sh test/run.sh build/$(BUILD)$(san) $(PART)
check-update: $(BUILD) ; $(Q)UPDATE=1 sh test/run.sh build/$(BUILD)$(san) cli
test-cuda: cuda $(tests_cuda) ; $(Q)sh test/cuda.sh build/cuda
bench-read bench-convert bench-threads bench-ready: bench-%: build/omp/bench_% ; $(Q)$< $(if $(filter read,$*),build/bench-read.mtx,$(FILES))
bench-solver bench-upload: bench-%: build/cuda/bench_% ; $(Q)$< $(FILES)
build/cuda/bench_upload: build/cuda/test/bench_upload.o build/cuda/parts.a ; $(Q)$(link_cuda) -o $@ $^ $(ldlibs)
include tables/tables.mk# studies, tables, reference, outside
docs: $(BUILD) force # the generated parts; tests say when they are out of date
	$(Q)$(PYTHON) docs/generate.py --program build/$(BUILD)$(san)/spmv && $(PYTHON) src/bindings/fortran/generate.py

# ---- upkeep --------------------------------------------------------------------------------------------------------
include src/install/install.mk# install, uninstall, deb, petsc, and their tests
include test/emulator/emulator.mk# emulated, test-emulated
lint format: ; $(Q)sh test/lint.sh $(filter format,$@)
help: ; @cat docs/reference/make.txt
info:
	@$(foreach v,$(settings) CFLAGS NVCC WERROR SAN BUILD PYTHON found cflags loads nvflags ldlibs, \
	    printf '%-12s %-13s %s\n' $(v) '$(from_$(v))' $(call quoted,$($(v)));)
deps: ; $(or $(done_first),$(Q)sh test/deps.sh)
deps-peers: remember ; $(or $(done_first),$(Q)MKLROOT='$(MKLROOT)' AOCLROOT='$(AOCLROOT)' PYTHON='$(PYTHON)' sh test/deps-peers.sh)
clean: ; $(or $(done_first),rm -rf build spmv)
