# emulator.mk: make emulated builds the CUDA backend for the processor, which emulates a GPU (docs/explanation/method.md), for tests on
# any machine. Its objects lie in build/emulated[-san]/; it needs g++ and Python, but not the CUDA toolkit.
CXX := g++
emulated := build/emulated$(san)
emulator_src := $(wildcard test/emulator/*.cpp)
emulated_flags := -std=c++20 -O1 -g1 -march=$(MARCH) -ffp-contract=off -fopenmp $(hidden) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
cuda_objects_emulated := $(patsubst build/cuda$(san)/%,$(emulated)/%,$(cuda_objects_cuda)) $(emulator_src:%.cpp=$(emulated)/%.o)
link_emulated  = $(CXX) -fopenmp $(if $(SAN),-fsanitize=$(SAN))
flags_emulated = $(CXX) $(emulated_flags)
$(eval $(call backend_rules,emulated,emulated$(san)))

$(emulated)/%: nvcc = python3 test/emulator/compile.py $(CXX)
$(emulated)/%: nvflags = $(emulated_flags) -w -Itest/emulator/include -Iinclude -Isrc -I.# -w: make cuda shows the warnings
$(emulated)/%: cusparse =
$(emulated)/build_info.h: NVCC = $(CXX)
$(emulated)/src/app/main.o: features = -D__CUDACC__# cuda is the default backend
$(emulated)/test/emulator/%.o: test/emulator/%.cpp $(emulated)/.flags
	@echo "  CXX    $@"
	$(Q)mkdir -p $(@D) && $(CXX) $(emulated_flags) -Wall -Wextra $(if $(WERROR),-Werror) -MMD -MP -c $< -o $@
$(patsubst %.cu,$(emulated)/%.o,$(cuda_once) test/solver.cu $(wildcard test/unit/*.cu)): $(emulated)/%.o: %.cu $(emulated)/.flags
	@echo "  CXX    $@"
	$(Q)mkdir -p $(@D) && $(nvcc) $(nvflags) -MMD -MP -c $< -o $@
$(cuda_objects_emulated): test/emulator/compile.py
$(emulated)/test/test_kernels_in_turn $(emulated)/test/test_streams: $(emulated)/test/unit/hasty.o
$(addprefix $(emulated)/test/test_,apply streams): $(emulated)/test/unit/streams.o
$(emulated)/test/test_streams: $(emulated)/test/solver.o
$(addprefix $(emulated)/test/test_,allocator device_memory peak source source_tuning upload): $(emulated)/test/unit/sources.o

# The unit tests of the CUDA build, and small matrices of every class.
test-emulated: emulated $(tests_emulated) ; $(Q)sh test/cuda.sh $(emulated)
.PHONY: emulated test-emulated
