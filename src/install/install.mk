# install.mk: what leaves this folder for others. Part of the Makefile, which includes it.

# What is built, as it is, so that nothing is compiled as root: PREFIX=/usr/local LIBDIR=lib DESTDIR= BUILD=omp.
install uninstall:
	$(Q)sh src/install/install.sh $@ build/$(BUILD) '$(DESTDIR)' '$(or $(PREFIX),/usr/local)' '$(or $(LIBDIR),lib)' $(if $(filter installcuda,$@$(BUILD)),'$(nvcc)')
deb: ; $(Q)sh src/install/deb.sh
test-deb test-python-binding: test-%: ; $(Q)PYTHON=$(PYTHON) sh test/$*.sh

# The library as a matrix type of PETSc (docs/howto/petsc.md).
petsc test-petsc bench-petsc: $(BUILD) ; $(Q)sh $(if $(filter petsc,$@),src/bindings/petsc/build.sh,test/petsc/run.sh) build/$(BUILD) $(filter bench-%,$@)
