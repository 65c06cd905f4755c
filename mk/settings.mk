# settings.mk: settings `make NAME=value` and their defaults. `make info` shows all.

# Values given to a build are stored in config.mk, one line `NAME ?= value` each, which may be edited. The command line
# has priority over the environment, and the environment over config.mk.
remembered := CC OPT MARCH CUDA_ARCH LIBS_WANTED MKLROOT AOCLROOT
ifeq ($(origin CC),default)
undefine CC # the default of make itself
endif
ifeq ($(filter clean,$(first)),)
-include config.mk
endif
in_config := $(foreach s,$(remembered),$(if $(filter file,$(origin $(s))),$(s)))

CC        ?= gcc
OPT       ?= $(if $(SAN)$(filter coverage,$(goals)),-O1,-O3)
MARCH     ?= native
CFLAGS    ?= $(OPT) -march=$(MARCH) -g
CUDA_ARCH ?= $(if $(wildcard /dev/nvidia0),native,sm_90)# the GPU of this machine, or else H100 and H200
NVCC      ?= $(call once,NVCC,$(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc) \
             $(wildcard /usr/local/cuda/bin/nvcc)))
LIBS_WANTED ?= libarchive zlib hdf5 jansson hwloc librsb mkl aocl cusparse mpi
MKLROOT   ?= .peers
AOCLROOT  ?=
PYTHON    ?= python3
# Build for tests, tables and installation: omp, cuda or emulated
BUILD     ?= omp
# SAN=address,undefined adds sanitizers, in separate folders; WERROR=1 turns warnings into errors. `make coverage` also
# has a separate folder.
counts := $(filter coverage,$(goals))
san := $(if $(counts),-cov,$(if $(SAN),-san))

# Source of a setting's value
from = $(if $(filter file undefined,$(origin $(1))),$(if $(filter $(1),$(in_config)),config.mk,default),$(origin $(1)))
given := $(foreach s,$(remembered),$(if $(filter command environment,$(origin $(s))),$(s)))
remember: | $(filter clean,$(first))
	$(if $(given),$(Q)sh mk/changed.sh config.mk \
	    "$$(awk -f mk/remember.awk config.mk $(foreach s,$(given),$(s) $(call quoted,$(value $(s)))))")
.PHONY: remember
