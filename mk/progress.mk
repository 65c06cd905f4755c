# progress.mk: progress of make: [12/220] is the twelfth of 220 objects that this call compiles.

compiles_omp      := $(lib_omp) $(app_omp)
compiles_cuda     := $(lib_cuda) $(app_cuda)
compiles_emulated := $(lib_emulated) $(app_emulated)
compiles_test          := $(compiles_$(BUILD)) $(unit_$(BUILD)) $(wrong_objects)
compiles_check         := $(compiles_test)
has_kernels := $(filter kernels,$(or $(PART),kernels))# the part of test/cuda.sh that runs unit tests
compiles_test-cuda     := $(compiles_cuda) $(if $(has_kernels),$(unit_cuda))
compiles_test-emulated := $(if $(has_kernels),$(if $(TESTS),,$(compiles_emulated) $(unit_emulated)),\
                          $(compiles_emulated))

# Objects that this call compiles, if every goal is one of these; otherwise unknown.
compiles := $(foreach g,$(or $(goals),omp),$(or $(compiles_$(g)),unknown))
compiles := $(if $(filter unknown,$(compiles)),,$(sort $(compiles)))
# These files are updated before anything is compiled, so that the number of objects can be counted.
stamps   := $(if $(compiles),$(omp)/.features $(foreach f,$(folders),\
            $(if $(filter $(f)/%,$(compiles)),$(f)/.flags $(f)/build_info.h)))

# make -B compiles everything; make -n tells this.
everything = $(strip $(foreach f,B n,$(findstring $(f),$(firstword -$(MAKEFLAGS)))))
stale    = $(shell sh mk/stale.sh $(foreach f,$(folders),'$(filter $(f)/%,$(compiles)): $(f)/.flags') \
           '$(filter $(asking),$(compiles)): $(omp)/.features' \
           '$(filter $(emulated_device),$(compiles)): test/emulator/compile.py')
total    = $(call once,total,$(if $(everything),$(words $(compiles)),$(stale)))
number   = $(eval numbered += x)$(words $(numbered))
progress = [$(number)$(if $(compiles),/$(total))]
