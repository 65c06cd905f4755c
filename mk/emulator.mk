# emulator.mk: `make emulated` builds the CUDA backend for the processor, which emulates a GPU, for tests on any machine
# (docs/explanation/method.md). It needs g++ and Python, but not the CUDA toolkit.

CXX := g++
emulated_flags = $(strip -std=c++20 -O1 -g1 -march=$(MARCH) -ffp-contract=off -fopenmp $(hidden) $(sanitize))
link_emulated  = $(CXX) -fopenmp $(if $(SAN),-fsanitize=$(SAN))

# -w: warnings are shown by make cuda.
device_includes := -Itest/emulator/include $(includes)
compile_emulated = $(call compile,CXX,python3 test/emulator/compile.py $(CXX) $(emulated_flags) -w $(device_includes) \
                   $(variant_flags))
emulated_device := $(call device_objects,$(emulated)) $(call once_objects,$(emulated),$(unit_cuda_src))
$(emulated_device): test/emulator/compile.py

$(emulated)/%.o:         %.c   $(emulated)/.flags ; $(call compile_c,$(emulated))
$(emulated)/%.o:         %.cu  $(emulated)/.flags ; $(compile_emulated)
$(emulated)/%.o:         %.cpp $(emulated)/.flags
	$(call compile,CXX,$(CXX) $(emulated_flags) -Wall -Wextra $(if $(WERROR),-Werror))
$(emulated)/src/app/main.o: private features = -D__CUDACC__# cuda is the default backend

$(emulated)/.flags: begin
	$(Q)sh mk/changed.sh $@ $(call quoted,$(CC) $(cflags) $(CXX) $(emulated_flags)) $(emulated)
$(emulated)/build_info.h: begin
	$(Q)sh mk/changed.sh $@ "$$($(build_info) $(CXX) '$(emulated_flags)' '$(CUDA_ARCH)' '$(found)')"
