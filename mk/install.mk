# install.mk: installation and packages.

# Installs the existing build, so that nothing is compiled as root: PREFIX=/usr/local LIBDIR=lib DESTDIR= BUILD=omp.
install uninstall:
	$(Q)sh src/install/install.sh $@ build/$(BUILD) '$(DESTDIR)' '$(or $(PREFIX),/usr/local)' '$(or $(LIBDIR),lib)' \
	    $(if $(filter installcuda,$@$(BUILD)),'$(nvcc)')
deb:
	$(Q)sh src/install/deb.sh
# The library as a matrix type of PETSc (docs/howto/petsc.md)
petsc: $(BUILD)
	$(Q)sh src/bindings/petsc/build.sh build/$(BUILD)
.PHONY: install uninstall deb petsc
