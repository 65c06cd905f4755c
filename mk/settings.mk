# settings.mk: what `make NAME=value` sets, and what holds where nothing is set. `make info` shows all.

# Once given to a build these are remembered: config.mk has a line `NAME ?= value` for each. It may be edited. The
# command line is stronger than the environment, and that is stronger than config.mk.
remembered := CC OPT MARCH CUDA_ARCH LIBS_WANTED MKLROOT AOCLROOT
ifeq ($(origin CC),default)
undefine CC # make's own default
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
# The build that tests, tables and the installation are of: omp, cuda or emulated
BUILD     ?= omp
# SAN=address,undefined adds sanitizers, in folders of their own; WERROR=1 makes errors of warnings.
# `make coverage` counts the lines that run, likewise.
counts := $(filter coverage,$(goals))
san := $(if $(counts),-cov,$(if $(SAN),-san))

# Where the value of a setting comes from
from = $(if $(filter file undefined,$(origin $(1))),$(if $(filter $(1),$(in_config)),config.mk,default),$(origin $(1)))
given := $(foreach s,$(remembered),$(if $(filter command environment,$(origin $(s))),$(s)))
remember: | $(filter clean,$(first))
	$(if $(given),$(Q)sh mk/changed.sh config.mk \
	    "$$(awk -f mk/remember.awk config.mk $(foreach s,$(given),$(s) $(call quoted,$(value $(s)))))")
.PHONY: remember
