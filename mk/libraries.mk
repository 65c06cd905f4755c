# libraries.mk: the optional libraries: those of LIBS_WANTED that are installed. They are looked for when a recipe first
# uses them, so that `make deps omp` finds what it has just installed.

wants    = $(filter $(1),$(LIBS_WANTED))
packages = $(call once,packages,$(foreach l,$(call wants,libarchive zlib jansson hwloc librsb),\
               $(shell pkg-config --exists $(l) 2>/dev/null && echo $(l))))
# What pkg-config says of those of $(2) that are here
package  = $(foreach l,$(filter $(2),$(packages)),$(shell pkg-config --$(1) $(l)))

# HDF5 for one process: Debian has its own name for it. It is opened at run time.
hdf5     = $(call once,hdf5,$(if $(call wants,hdf5),$(firstword $(foreach l,hdf5-serial hdf5,\
               $(shell pkg-config --exists $(l) 2>/dev/null && echo $(l))))))

# oneMKL is files under MKLROOT, not a pkg-config package.
mkl_lib  = $(firstword $(shell ls $(abspath $(MKLROOT))/lib/$(1).so* 2>/dev/null))
mkl_libs = $(foreach l,libmkl_intel_lp64 libmkl_gnu_thread libmkl_core,$(call mkl_lib,$(l)))
has_mkl  = $(and $(call wants,mkl),$(shell ls $(MKLROOT)/include/mkl_spblas.h 2>/dev/null))
mkl      = $(call once,mkl,$(if $(has_mkl),$(mkl_libs)))

# AOCL-Sparse, of AMD's package or PyPI's aoclda, is opened by its path when it is first asked for.
aocl_in = $(shell ls $(addprefix $(abspath $(1))/,lib/libaoclsparse.so aoclda.libs/libaoclsparse*.so*) 2>/dev/null)
aocl    = $(call once,aocl,$(if $(call wants,aocl),$(firstword $(call aocl_in,$(or $(AOCLROOT),$(MKLROOT)/aocl)))))

# The build needs of cuSPARSE the CUDA toolkit's header. The library is opened at run time: the toolkit's, and the one
# that make deps-peers fetched.
has_cusparse = $(shell echo '\#include <cusparse.h>' | $(NVCC) -E -x cu - >/dev/null 2>&1 && echo y)
cusparse     = $(call once,cusparse,$(if $(call wants,cusparse),$(has_cusparse)))
fetched_cusparse := $(CURDIR)/.peers/cusparse/nvidia/cu13/lib/libcusparse.so.12

found    = $(strip $(packages) $(if $(hdf5),hdf5) $(if $(mkl),mkl) $(if $(aocl),aocl))

# These flags are for the files that ask for a library (HAVE_NAME), and no others: another library, or none, recompiles
# those alone.
feature_flags = $(call once,feature_flags,$(strip \
    $(foreach l,$(packages),-DHAVE_$(shell echo $(l) | tr a-z A-Z) $(call package,cflags,$(l))) \
    $(if $(hdf5),-DHAVE_HDF5 $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(hdf5)))) \
    $(if $(mkl),-DHAVE_MKL -isystem $(MKLROOT)/include) $(if $(aocl),-DHAVE_AOCL '-DAOCL_LIBRARY="$(aocl)"')))

# What libspmv links; what the program links, which alone uses jansson and hwloc; and what the tests link, which write
# archives. The library opens libarchive and HDF5 at run time.
link_mkl  = $(if $(mkl),$(addprefix -Xlinker ,--no-as-needed $(mkl) -rpath=$(abspath $(MKLROOT))/lib) -lgomp)
lib_libs  = $(call once,lib_libs,$(strip $(call package,libs,zlib librsb) $(link_mkl) -lm -ldl))
ldlibs    = $(call once,ldlibs,$(strip $(call package,libs,jansson hwloc) $(lib_libs)))
test_libs = $(call once,test_libs,$(strip $(ldlibs) $(call package,libs,libarchive) -lcmocka))
