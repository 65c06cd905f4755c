# tests.mk: tests, and benchmarks with results that a reader can check (docs/reference/building.md).

# make test BUILD=cuda: tests the CUDA build; SAN=address,undefined: under sanitizers; PART=unit, cli or python; JOBS=N.
test: $(BUILD) $(tests_$(BUILD)) build/$(BUILD)$(san)/spmv-wrong
	$(Q)PYTHON=$(PYTHON) CC=$(call quoted,$(CC)) sh test/run.sh build/$(BUILD)$(san) $(PART)
check: test
check-update: $(BUILD)
	$(Q)UPDATE=1 sh test/run.sh build/$(BUILD)$(san) cli
# PART=users, kernels or sanitizers: one part; users takes three minutes.
test-cuda: cuda $(if $(has_kernels),$(tests_cuda))
	$(Q)PYTHON=$(PYTHON) sh test/cuda.sh $(cuda)
# TESTS='test_NAME ...': only these unit tests.
test-emulated: emulated $(if $(has_kernels),$(if $(TESTS),$(TESTS:%=$(emulated)/test/%),$(tests_emulated)))
	$(Q)PYTHON=$(PYTHON) sh test/cuda.sh $(emulated)
# Property tests for SECONDS, default 20 minutes. Seeds continue where the last run ended, and number the matrices.
soak: build/$(BUILD)$(san)/test/test_soak
	$(Q)SOAK_SECONDS=$(or $(SECONDS),1200) SOAK_STATE=build/$(BUILD)$(san)/soak.state $<
# Coverage of library and OpenMP kernels by unit and command-line tests: lines, branches, and uncovered lines.
coverage: $(addprefix $(omp)/,spmv libspmv.so libspmv.a) $(tests_omp)
	$(Q)find $(omp) -name '*.gcda' -delete
	$(Q)SPMV_FEW_PRODUCTS=1 CC=$(call quoted,$(CC)) PYTHON=$(PYTHON) \
	    sh test/run.sh $(omp) $(or $(PART),unit cli) >$(omp)/coverage.tests || \
	    tail -n 1 $(omp)/coverage.tests
	$(Q)SPMV=$(omp)/spmv $(PYTHON) test/python/test_files.py 2>$(omp)/coverage.files || tail -n 1 $(omp)/coverage.files
	$(Q)$(PYTHON) test/coverage.py $(omp)
test-deb test-python-binding test-python-accelerate test-python-cupy: test-%:
	$(Q)PYTHON=$(PYTHON) sh test/$*.sh
# spmv.jax with $(PYTHON)'s JAX; PROGRAMS=10000: number of random programs.
test-jax: $(BUILD) build/$(BUILD)$(san)/libspmv_jax.so
	$(Q)SPMV=build/$(BUILD)$(san)/spmv $(if $(PROGRAMS),PROGRAMS=$(PROGRAMS)) $(PYTHON) test/python/test_jax.py
# spmv.torch and spmv.accelerate(torch=True), with the PyTorch that $(PYTHON) has.
test-torch: $(BUILD)
	$(Q)ok=true; for part in torch accelerate_torch results; do \
	    SPMV=build/$(BUILD)$(san)/spmv $(PYTHON) test/python/test_$$part.py || ok=false; done; $$ok
test-petsc bench-petsc: $(BUILD)
	$(Q)sh test/petsc/run.sh build/$(BUILD) $(filter bench-%,$@)
# Products over ranks; one rank is killed, 200 times. FEW=1: 10 times, and fewer of some other tests.
test-ranks: $(BUILD)
	$(Q)SAN=$(SAN) FEW=$(FEW) PYTHON=$(PYTHON) sh test/ranks/run.sh build/$(BUILD)$(san)
bench-convert bench-ready bench-small bench-onemkl: bench-%: build/omp/bench_%
	$(Q)$< $(FILES)
bench-read: build/omp/bench_read omp
	$(Q)$< build/bench-read.mtx; code=$$?; SPMV_LIBRARY=build/omp/libspmv.so $(PYTHON) bench/files.py && exit $$code
# On a CPU compared with single products; BUILD=cuda: on a GPU compared with cuSPARSE.
bench-vectors: $(if $(filter cuda,$(BUILD)),build/cuda/bench_several,build/omp/bench_vectors)
	$(Q)$< $(if $(filter cuda,$(BUILD)),,auto) $(FILES)
# Beside a competing process on each core: products of KERNELS, preparation, choices for MATRICES, plans shared by
# threads. Each program prints its targets.
bench-threads: $(addprefix build/omp/bench_,threads preparing choices sharing)
	$(Q)ok=true; build/omp/bench_threads $(KERNELS) || ok=false; build/omp/bench_preparing || ok=false; \
	build/omp/bench_choices $(MATRICES) || ok=false; build/omp/bench_sharing $(MATRICES) || ok=false; $$ok
MATRICES ?= $(wildcard $(patsubst %,../shared/matrices/%.mtx.gz,bcsstk25 c-62 mip_map10 mip_rail507 NotreDame_www \
                       soc-Slashdot0902 trilinos_nsjac wave xenon1))
bench-solver: build/cuda/bench_solver build/cuda/bench_loops
	$(Q)ok=true; build/cuda/bench_solver $(FILES) || ok=false; build/cuda/bench_loops $(FILES) || ok=false; $$ok
bench-upload: build/cuda/bench_upload
	$(Q)$< $(FILES)
bench-python: $(BUILD)
	$(Q)SPMV_LIBRARY=build/$(BUILD)/libspmv.so PYTHONPATH=src/bindings/python $(PYTHON) bench/python.py
# spmv.jax compared with JAX's BCOO and BCSR; prints each target.
bench-jax: $(BUILD) build/$(BUILD)$(san)/libspmv_jax.so
	$(Q)SPMV_LIBRARY=build/$(BUILD)/libspmv.so PYTHONPATH=src/bindings/python $(PYTHON) bench/jax_products.py
# spmv.torch beside PyTorch's own sparse products and PyG's; prints each bar.
bench-torch: $(BUILD)
	$(Q)SPMV_LIBRARY=build/$(BUILD)/libspmv.so PYTHONPATH=src/bindings/python $(PYTHON) -W ignore bench/torch_products.py
wheels:
	$(Q)PYTHON=$(PYTHON) sh src/bindings/python/wheels.sh
bench-accelerate: $(BUILD)
	$(Q)SPMV_LIBRARY=build/$(BUILD)/libspmv.so PYTHONPATH=src/bindings/python \
	$(PYTHON) bench/accelerate$(if $(filter cuda,$(BUILD)),_cupy).py
bench-values: build/$(BUILD)/bench_values
	$(Q)$< $(BUILD) $(FILES)
bench-iterations: omp
	$(Q)SPMV=build/omp/spmv CC=$(call quoted,$(CC)) $(PYTHON) bench/iterations.py
# Counts wrong verdicts of spmv compare, and detections of a slowdown by 10 %; FEW=1: fewer tries.
bench-verdicts: $(BUILD)
	$(Q)SPMV=build/$(BUILD)/spmv $(PYTHON) bench/verdicts.py $(if $(FEW),--few)
# Ranks with one thread compared with one process with two; LOG=FILE keeps the results and resumes.
bench-ranks: $(BUILD)
	$(Q)$(PYTHON) bench/ranks.py build/$(BUILD)/spmv $(or $(LOG),build/bench-ranks.jsonl)
# Inserts faults into a copy of the sources and prints the faults that no test finds: those of test/mutate/faults.txt,
# or with SEED=N a sample of COUNT (default 100) generated ones; ONLY=WORD: faults whose name contains it; JOBS=N: N at
# a time. An interrupted run resumes.
mutate:
	$(Q)$(PYTHON) test/mutate/mutate.py $(if $(SEED),--generated $(SEED)) $(if $(COUNT),--count $(COUNT)) \
	    $(if $(ONLY),--only '$(ONLY)') $(if $(JOBS),--jobs $(JOBS)) $(if $(V),-v)
.PHONY: test check check-update test-cuda test-emulated test-deb test-python-binding test-python-accelerate \
        test-python-cupy test-jax bench-jax test-torch bench-torch test-petsc bench-petsc \
        bench-read bench-convert bench-threads \
        bench-ready bench-small bench-solver bench-upload bench-values bench-vectors bench-onemkl \
        bench-iterations bench-verdicts bench-accelerate bench-python bench-ranks wheels mutate soak \
        test-ranks coverage

# ---- the programs --------------------------------------------------------------------------------------------------

# A unit test links the program's objects except main; a benchmark links only the library's.
parts = $(filter-out %/src/app/main.o,$(app_$(1))) build/$(1)$(san)/parts.a $(omp)/.features
$(omp)/test/%:      $(omp)/test/unit/%.o $(call parts,omp)      ; $(call link_test,omp)
$(cuda)/test/%:     $(omp)/test/unit/%.o $(call parts,cuda)     ; $(call link_test,cuda)
$(emulated)/test/%: $(omp)/test/unit/%.o $(call parts,emulated) ; $(call link_test,emulated)
link_test = $(Q)mkdir -p $(@D) && $(link_$(1)) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(test_libs)

$(omp)/bench_%:     $(omp)/bench/%.o $(omp)/parts.a  ; $(Q)$(link_omp) -o $@ $^ $(ldlibs)
$(cuda)/bench_%:    $(omp)/bench/%.o $(cuda)/parts.a ; $(Q)$(link_cuda) -o $@ $^ $(ldlibs)
$(cuda)/bench_upload: $(cuda)/bench/upload.o $(cuda)/parts.a
	$(Q)$(link_cuda) -o $@ $^ $(ldlibs)
$(cuda)/bench_solver: $(cuda)/test/solver.o
# The examples need C++17 for cooperative groups.
$(cuda)/bench/loops.o: private nvflags := $(subst c++14,c++17,$(nvflags))
$(cuda)/bench_loops: $(cuda)/bench/loops.o $(cuda)/parts.a
	$(Q)$(link_cuda) -o $@ $^ $(ldlibs) -lcublas -lcusparse

# Additional files of tests of the CUDA build and of its emulation: CUDA C++.
on_device = $(addprefix $(cuda)/test/test_,$(1)) $(addprefix $(emulated)/test/test_,$(1))
$(call on_device,kernels_in_turn streams): $$(@D)/unit/hasty.o
$(call on_device,apply streams sums): $$(@D)/unit/streams.o
$(call on_device,streams): $$(@D)/solver.o
$(call on_device,allocator device_memory live peak source source_tuning upload): $$(@D)/unit/sources.o
