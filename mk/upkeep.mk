# upkeep.mk: targets for developers.

help:
	@cat docs/reference/make.txt
info:
	@$(foreach v,$(remembered) CFLAGS NVCC WERROR SAN BUILD PYTHON,\
	    printf '%-12s %-13s %s\n' $(v) '$(call from,$(v))' $(call quoted,$($(v)));)
	@$(foreach v,found cflags loads nvflags ldlibs,printf '%-12s %-13s %s\n' $(v) '' $(call quoted,$($(v)));)
lint format:
	$(Q)sh test/rules/lint.sh $(filter format,$@)
# The generated parts of documents, which tests compare; and the files to install, in build/docs.
docs: $(BUILD)
	$(Q)$(PYTHON) docs/generate.py --program build/$(BUILD)$(san)/spmv --pages . --made build/docs && \
	    $(PYTHON) src/bindings/fortran/generate.py build/docs/spmv.f90
deps:
	$(Q)sh test/deps.sh
deps-peers: remember
	$(Q)MKLROOT='$(MKLROOT)' AOCLROOT='$(AOCLROOT)' PYTHON='$(PYTHON)' sh test/deps-peers.sh
clean:
	rm -rf build spmv config.mk
.PHONY: help info lint format docs deps deps-peers clean
