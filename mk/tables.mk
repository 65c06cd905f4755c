# tables.mk: measurements for tables, and the tables.

# Studies of papers: FILES='a.mtx b.mtx' or twins; SCALE=small|medium|full, MATRICES='cant pwtk', LIMIT=seconds,
# CACHE=cold.
study-sell study-cmrs study-ci study-omp-cuda: study-%: $(BUILD)
	$(Q)$(PYTHON) tables/report/repeat_study.py $* --scale $(or $(SCALE),small) $(if $(FILES),--files $(FILES)) \
	    $(if $(MATRICES),--matrices $(MATRICES)) $(if $(LIMIT),--limit $(LIMIT)) $(if $(CACHE),--cache $(CACHE))
tables:
	$(Q)$(PYTHON) tables/report/make_tables.py --out tables $(or $(LOGS),log)
# Reference measurements: NAME=h200 BUILD=cuda FILES=../shared/matrices; their tables and report; outside matrices.
reference: $(BUILD)
	$(Q)FILES='$(FILES)' sh tables/measure_reference.sh build/$(BUILD)/spmv $(or $(NAME),$(BUILD))
reference-tables:
	$(Q)PYTHON=$(PYTHON) sh tables/make_reference.sh
outside:
	$(Q)PYTHON=$(PYTHON) sh tables/outside/make.sh $(if $(JOBS),--jobs $(JOBS)) \
	    $(if $(MATRICES),--only '$(MATRICES)')
.PHONY: study-sell study-cmrs study-ci study-omp-cuda tables reference reference-tables outside
