# libraries.mk: the optional libraries of LIBS_WANTED that are installed. The search runs when a recipe first uses its
# result, so that `make deps omp` finds newly installed libraries.

wants    = $(filter $(1),$(LIBS_WANTED))
packages = $(call once,packages,$(foreach l,$(call wants,libarchive zlib jansson hwloc librsb),\
               $(shell pkg-config --exists $(l) 2>/dev/null && echo $(l))))
# Result of pkg-config for the libraries of $(2) that are installed
package  = $(foreach l,$(filter $(2),$(packages)),$(shell pkg-config --$(1) $(l)))

# Serial HDF5, which has a special name on Debian. It is loaded at run time.
hdf5     = $(call once,hdf5,$(if $(call wants,hdf5),$(firstword $(foreach l,hdf5-serial hdf5,\
               $(shell pkg-config --exists $(l) 2>/dev/null && echo $(l))))))

# oneMKL: files under MKLROOT, not a pkg-config package.
mkl_lib  = $(firstword $(shell ls $(abspath $(MKLROOT))/lib/$(1).so* 2>/dev/null))
mkl_libs = $(foreach l,libmkl_intel_lp64 libmkl_gnu_thread libmkl_core,$(call mkl_lib,$(l)))
has_mkl  = $(and $(call wants,mkl),$(shell ls $(MKLROOT)/include/mkl_spblas.h 2>/dev/null))
mkl      = $(call once,mkl,$(if $(has_mkl),$(mkl_libs)))

# AOCL-Sparse: AMD's package or PyPI's aoclda, loaded by its path on first use.
aocl_in = $(shell ls $(addprefix $(abspath $(1))/,lib/libaoclsparse.so aoclda.libs/libaoclsparse*.so*) 2>/dev/null)
aocl    = $(call once,aocl,$(if $(call wants,aocl),$(firstword $(call aocl_in,$(or $(AOCLROOT),$(MKLROOT)/aocl)))))

# cuSPARSE: the build needs only the CUDA toolkit's header. The library is loaded at run time: the toolkit's, or the one
# fetched by make deps-peers.
has_cusparse = $(shell echo '\#include <cusparse.h>' | $(NVCC) -E -x cu - >/dev/null 2>&1 && echo y)
cusparse     = $(call once,cusparse,$(if $(call wants,cusparse),$(has_cusparse)))
fetched_cusparse := $(CURDIR)/.peers/cusparse/nvidia/cu13/lib/libcusparse.so.12

found    = $(strip $(packages) $(if $(hdf5),hdf5) $(if $(mkl),mkl) $(if $(aocl),aocl))

# Flags of the files that use an optional library (HAVE_NAME), and of no others: a change recompiles only these.
feature_flags = $(call once,feature_flags,$(strip \
    $(foreach l,$(packages),-DHAVE_$(shell echo $(l) | tr a-z A-Z) $(call package,cflags,$(l))) \
    $(if $(hdf5),-DHAVE_HDF5 $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(hdf5)))) \
    $(if $(mkl),-DHAVE_MKL -isystem $(MKLROOT)/include) $(if $(aocl),-DHAVE_AOCL '-DAOCL_LIBRARY="$(aocl)"')))

# Libraries of libspmv; of the program, which alone uses jansson and hwloc; and of the tests, which write archives. The
# library loads libarchive and HDF5 at run time.
link_mkl  = $(if $(mkl),$(addprefix -Xlinker ,--no-as-needed $(mkl) -rpath=$(abspath $(MKLROOT))/lib) -lgomp)
lib_libs  = $(call once,lib_libs,$(strip $(call package,libs,zlib librsb) $(link_mkl) -lm -ldl))
ldlibs    = $(call once,ldlibs,$(strip $(call package,libs,jansson hwloc) $(lib_libs)))
test_libs = $(call once,test_libs,$(strip $(ldlibs) $(call package,libs,libarchive) -lcmocka))
