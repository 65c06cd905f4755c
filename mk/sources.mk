# sources.mk: the files to compile, and their objects. The folder determines how often a file is compiled: once, or
# once per variant of precision and offset width (features_*.c: once).

omp      := build/omp$(san)
cuda     := build/cuda$(san)
emulated := build/emulated$(san)
folders  := $(omp) $(cuda) $(emulated)
variants := $(shell sed -n 's/^    X.\([a-z0-9_]*\),.*/\1/p' include/spmv_variant.h)

app_src     := $(wildcard src/app/*.c src/app/*/*.c src/app/*/*/*.c)
# Code that needs MPI is a separate library (src/ranks/exchange/build.sh).
lib_src     := $(filter-out src/app/%,$(wildcard src/*.c src/*/*.c src/matrix/*/*.c src/ranks/*/*.c \
               src/io/*/*.c src/formats/*/features_*.c omp/*.c)) cuda/propose.c cuda/cusparse_library.c
variant_src := $(filter-out $(lib_src),$(wildcard src/formats/*/*.c src/formats/papers/*/*.c omp/*/*.c))
cuda_src         := $(wildcard cuda/*.cu)
cuda_variant_src := $(wildcard cuda/*/*.cu)
emulator_src     := $(wildcard test/emulator/*.cpp)
unit_src         := $(wildcard test/unit/test_*.c)
unit_cuda_src    := $(wildcard test/unit/*.cu) test/solver.cu

# Files without offsets, or with 32-bit offsets only, are compiled once per precision and export both names
# (include/spmv_variant.h).
any_offsets := $(wildcard cuda/peers/*.cu) $(shell grep -ls 'EXPORT_\(ANY_OFFSETS\|NARROW\)_' \
               $(variant_src) cuda/*/*.cu)
# Files that use an optional library
asking_src  := $(shell grep -rls --include='*.c' HAVE_ src omp test/unit)

# $(call once_objects,FOLDER,SOURCES), $(call variant_objects,FOLDER,SOURCES)
once_objects    = $(patsubst %,$(1)/%.o,$(basename $(2)))
variant_objects = $(foreach v,$(variants),$(patsubst %,$(1)/%.$(v).o,$(basename \
                  $(filter-out $(if $(findstring o64,$(v)),$(any_offsets)),$(2)))))

# C is compiled for all builds in omp's folder, except files that contain the name of the build.
named        := src/app/main.c src/app/record/record.c
c_objects    := $(call once_objects,$(omp),$(lib_src)) $(call variant_objects,$(omp),$(variant_src))
app_objects  := $(call once_objects,$(omp),$(filter-out $(named),$(app_src)))
unit_objects := $(call once_objects,$(omp),$(unit_src))
asking       := $(call once_objects,$(omp),$(filter-out $(variant_src),$(asking_src))) \
                $(call variant_objects,$(omp),$(filter $(variant_src),$(asking_src)))
device_objects = $(call once_objects,$(1),$(cuda_src)) $(call variant_objects,$(1),$(cuda_variant_src))

# The library, the program, the tests, and the objects linked to tests, of each build
lib_omp      := $(c_objects) $(omp)/cuda/absent.o
lib_cuda     := $(c_objects) $(call device_objects,$(cuda))
lib_emulated := $(c_objects) $(call device_objects,$(emulated)) $(call once_objects,$(emulated),$(emulator_src))
app_omp      := $(call once_objects,$(omp),$(named)) $(app_objects)
app_cuda     := $(call once_objects,$(cuda),$(named)) $(app_objects)
app_emulated := $(call once_objects,$(emulated),$(named)) $(app_objects)
tests_omp      := $(unit_src:test/unit/%.c=$(omp)/test/%)
tests_cuda     := $(unit_src:test/unit/%.c=$(cuda)/test/%)
tests_emulated := $(unit_src:test/unit/%.c=$(emulated)/test/%)
unit_omp       := $(unit_objects)
unit_cuda      := $(unit_objects) $(call once_objects,$(cuda),$(unit_cuda_src))
unit_emulated  := $(unit_objects) $(call once_objects,$(emulated),$(unit_cuda_src))
bench_objects  := $(call once_objects,$(omp),$(filter-out bench/slow.c,$(wildcard bench/*.c))) \
                  $(call once_objects,$(cuda),$(wildcard bench/*.cu))
wrong_objects  := $(call variant_objects,$(omp),test/wrong.c)
objects := $(sort $(bench_objects) $(wrong_objects) $(foreach b,omp cuda emulated,$(lib_$(b)) $(app_$(b)) $(unit_$(b))))
