# flags.mk: flags of compilers and linkers.

# Expands to the flag if the compiler accepts it
known = $(shell $(CC) -Werror $(1) -E -x c /dev/null >/dev/null 2>&1 && echo '$(1)')

includes := -Iinclude -Isrc -I.
hidden   := -fPIC -fvisibility=hidden# for libspmv.so; the program uses the same objects
sanitize := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(if $(counts),--coverage -fprofile-update=atomic)
warnings  = $(call once,warnings,$(strip -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes \
            $(call known,-Wjump-misses-init) $(if $(WERROR),-Werror)))
# Under sanitizers forced inlining is disabled: csr_balanced then takes 3 s per variant instead of 50.
cflags    = $(strip -std=gnu11 $(CFLAGS) $(hidden) -fno-semantic-interposition -fopenmp $(warnings) $(includes) \
            -D_GNU_SOURCE $(sanitize) $(if $(SAN),-fno-var-tracking -Dalways_inline=))

# Flags of kernels and formats. gcc 12 compiles loops over x[col[k]] to gather instructions, which take two to four
# times as long as loads since Intel's microcode against Downfall (csr_rows in f32: 24 ms instead of 11). Kernels in
# which gathers may pay ask gather.c and use intrinsics. Only flags that this compiler accepts: none with clang and on
# other architectures.
gathers   = $(foreach n,_2parts _4parts _8parts :,$(call known,-mtune-ctrl=^use_gather$(n::=)))
loads     = $(call once,loads,$(subst $(space)-mtune-ctrl=,$(comma),$(strip $(gathers))))

# The variant of build/omp/omp/csr/csr_rows.f64_o32.o is f64_o32: the precision, and the width of offsets.
variant       = $(patsubst .%,%,$(suffix $(basename $@)))
variant_flags = $(if $(variant),-DSPMV_SUFFIX=$(variant) \
                -DSPMV_REAL=$(if $(findstring f64,$(variant)),double,float) \
                -DSPMV_OFS=$(if $(findstring o64,$(variant)),int64_t,int32_t))

nvcc      = $(or $(NVCC),$(error make cuda: no nvcc in PATH, CUDA_HOME or /usr/local/cuda. \
            Install the CUDA toolkit, or name it: make cuda NVCC=/path/to/nvcc. 'make omp' needs none))

# The last of several architectures is also included as PTX, which newer GPUs compile at run time.
arch_code  = -gencode=arch=compute_$(1),code=$(2)_$(1)
arch_codes = $(foreach a,$(CUDA_ARCH:sm_%=%),$(call arch_code,$(a),sm)) \
             $(call arch_code,$(patsubst sm_%,%,$(lastword $(CUDA_ARCH))),compute)
arch_flags = $(if $(word 2,$(CUDA_ARCH)),$(arch_codes),-arch=$(CUDA_ARCH))

nvflags   = $(strip -std=c++14 $(OPT) $(arch_flags) \
            -Xcompiler=-fopenmp,-Wall,$(subst $(space),$(comma),$(hidden)) \
            $(if $(WERROR),-Werror all-warnings) $(includes))

link_omp  = $(CC) $(cflags)
link_cuda = $(nvcc) $(arch_flags) -Xcompiler=-fopenmp$(if $(SAN),$(comma)-fsanitize=$(SAN))

# Name and flags of the installed library. It stays loaded after dlclose.
soname       := libspmv.so.$(shell sed -n 's/^SPMV_\([0-9]*\) {/\1/p' src/install/exports.map)
shared_flags := -shared $(addprefix -Xlinker ,-soname=$(soname) --version-script=src/install/exports.map \
                -Bsymbolic-functions --as-needed -z nodelete)
