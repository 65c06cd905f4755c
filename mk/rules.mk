# rules.mk: rules from sources to objects, libraries and programs, with progress.

omp cuda emulated: %: build/%$(san)/spmv build/%$(san)/libspmv.a build/%$(san)/libspmv.so
	$(if $(call wants,mpi),$(Q)sh src/ranks/exchange/build.sh build/$*$(san) $(sanitize))
	$(Q)ln -sf build/$*$(san)/spmv spmv
	@echo "  ready  ./spmv  [$*]   optional libraries: $(or $(found),none) (all optional)"
.PHONY: omp cuda emulated

ifneq ($(filter cuda,$(goals)),)
ifeq ($(call from,CUDA_ARCH) $(CUDA_ARCH),default sm_90)
$(info $()  no GPU here: for an H100, H200 or newer; CUDA_ARCH=sm_80: for an A100, all-major: for every one)
endif
endif

# ---- objects -------------------------------------------------------------------------------------------------------

$(objects): | $(stamps) # progress.mk; named here, so that make keeps them
# $(call compile,NAME,COMMAND): compiles a source to $@, and writes the included headers to a .d file beside it.
define compile
$(info $()  $(progress) $(1) $@)
$(Q)mkdir -p $(@D) && $(2) -MMD -MP -c $< -o $@
endef
compile_c    = $(call compile,CC,$(CC) $(cflags) $(if $(variant),$(loads)) $(features) $(variant_flags) -I$(1))
compile_cuda = $(call compile,NVCC,$(nvcc) $(nvflags) $(if $(cusparse),-DHAVE_CUSPARSE) $(variant_flags))

$(omp)/%.o:          %.c  $(omp)/.flags  ; $(call compile_c,$(omp))
$(cuda)/%.o:         %.c  $(cuda)/.flags ; $(call compile_c,$(cuda))
$(cuda)/%.o:         %.cu $(cuda)/.flags ; $(compile_cuda)
define variant_rules
$(omp)/%.$(1).o:      %.c  $(omp)/.flags      ; $$(call compile_c,$(omp))
$(cuda)/%.$(1).o:     %.cu $(cuda)/.flags     ; $$(compile_cuda)
$(emulated)/%.$(1).o: %.cu $(emulated)/.flags ; $$(compile_emulated)
endef
$(foreach v,$(variants),$(eval $(call variant_rules,$(v))))

# Files with special flags. Sums of in_place.c and sums.c equal those of a plain loop: no fused multiply-add. main.c
# uses __CUDACC__, which -x cu defines.
$(cuda)/src/app/main.o: src/app/main.c $(cuda)/.flags
	$(call compile,NVCC,$(nvcc) $(nvflags) -x cu)
$(variants:%=$(omp)/omp/arrays/in_place.%.o) $(omp)/omp/sums.o: private cflags += -ffp-contract=off
# Sums of several vectors specify which products are fused with a sum; in vector code gcc fuses by itself from -O2 on.
fuses := $(if $(findstring clang,$(CC)),,-fexpensive-optimizations)
$(variants:%=$(omp)/omp/csr/csr_balanced.%.o): private cflags += $(fuses)
$(asking): $(omp)/.features
$(asking): private features = $(feature_flags)
$(omp)/cuda/cusparse_library.o: private features = -DFETCHED_CUSPARSE='"$(fetched_cusparse)"'
# CUB needs C++17 (headers of C++14 take a third less time), asserts, and has names that objcopy cannot make local.
$(cuda)/cuda/scan.o: private nvflags := $(subst c++14,c++17,$(nvflags)) -DNDEBUG -Xcompiler=-fno-gnu-unique
# Peers without device code are compiled by gcc, in a third of the time.
cpp_peers := csr_alg1 csr_alg2 bsr spmvop_alg1 spmvop_alg2
$(cpp_peers:%=$(cuda)/cuda/peers/cusparse_%.%.o): private nvflags += -x c++

# ---- what objects depend on besides sources: files that are written when what they hold changes ---------------------

# The files of build/cuda include the flags of C, which two of its files use.
$(omp)/.flags: begin
	$(Q)sh mk/changed.sh $@ $(call quoted,$(CC) $(cflags) $(loads)) $(omp)
$(cuda)/.flags: begin
	$(Q)sh mk/changed.sh $@ $(call quoted,$(CC) $(cflags) $(NVCC) $(nvflags) $(if $(cusparse),cusparse)) $(cuda)
$(omp)/.features: begin
	$(Q)sh mk/changed.sh $@ $(call quoted,$(feature_flags) $(ldlibs)) 'what asks for libraries in $(omp)'
$(folders:=/.objects): build/%$(san)/.objects: begin
	$(Q)sh mk/changed.sh $@ '$(lib_$*) $(app_$*)'

# Facts about the build for records
build_info = sh src/app/record/build_info.sh $(call quoted,$(CC)) $(call quoted,$(cflags) $(loads))
$(omp)/build_info.h: begin
	$(Q)sh mk/changed.sh $@ "$$($(build_info) '' '' '' '$(found)')"
$(cuda)/build_info.h: begin
	$(Q)sh mk/changed.sh $@ "$$($(build_info) '$(NVCC)' '$(nvflags)' '$(CUDA_ARCH)' '$(found)')"
$(folders:=/src/app/record/record.o): %/src/app/record/record.o: %/build_info.h
$(omp)/src/wisdom/wisdom_key.o: $(omp)/build_info.h

-include $(if $(filter clean,$(first)),,$(shell find $(folders) -name '*.d' 2>/dev/null))

# ---- libraries and programs ----------------------------------------------------------------------------------------

define link_program
@echo "  LINK   $@"
$(Q)$(link_$*) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ldlibs)
endef
$(folders:=/spmv): build/%$(san)/spmv: $$(app_$$*) build/%$(san)/parts.a $(omp)/.features
	$(link_program)
# Links the program with wrong kernels before the library's, for tests of the check
$(folders:=/spmv-wrong): build/%$(san)/spmv-wrong: $(wrong_objects) $$(app_$$*) build/%$(san)/parts.a \
    $(omp)/.features
	$(link_program)
# The library's objects, for our own programs; .objects changes when a source is removed.
$(folders:=/parts.a): build/%$(san)/parts.a: $$(lib_$$*) build/%$(san)/.objects
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)
# Both libraries export what the installed headers declare: other names are hidden in the one, local in the other.
$(folders:=/libspmv.so): build/%$(san)/libspmv.so: $$(lib_$$*) build/%$(san)/.objects $(omp)/.features \
    src/install/exports.map
	@echo "  LINK   $@"
	$(Q)$(link_$*) $(shared_flags) -o $@ $(filter %.o,$^) $(lib_libs)
	$(Q)ln -sf libspmv.so $(@D)/$(soname) && echo '$(lib_libs)' >$(@D)/.libs
# XLA's handlers for spmv.jax, with the headers of $(PYTHON)'s JAX.
$(folders:=/libspmv_jax.so): build/%$(san)/libspmv_jax.so: src/bindings/python/ffi/handler.c include/spmv.h
	@echo "  CC     $@"
	$(Q)mkdir -p $(@D) && headers=$$($(PYTHON) -c 'import jax.ffi; print(jax.ffi.include_dir())') && \
	$(CC) $(cflags) $(hidden) -Iinclude -isystem "$$headers" -shared -pthread -o $@ $<
$(folders:=/libspmv.a): build/%$(san)/libspmv.a: $$(lib_$$*) build/%$(san)/.objects
	$(Q)$(CC) -r -nostdlib -Xlinker --force-group-allocation -Xlinker -d -o $(@D)/libspmv.o $(filter %.o,$^)
	$(Q)objcopy -w --localize-hidden --keep-global-symbol='spmv_*' $(@D)/libspmv.o
	$(Q)rm -f $@ && ar rcs $@ $(@D)/libspmv.o && rm $(@D)/libspmv.o
