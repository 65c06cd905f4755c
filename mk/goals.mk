# goals.mk: which goals come first, and how many jobs run at once.

.DEFAULT_GOAL := omp
# These remove or install files. Other goals of the same call (make clean omp, make deps test) wait for them.
firsts := clean deps deps-peers
first  := $(filter $(firsts),$(MAKECMDGOALS))
goals  := $(filter-out $(first),$(MAKECMDGOALS))
deps: | $(filter clean,$(first))
deps-peers: | $(filter clean deps,$(first))
$(goals): | $(first)

# Every file that says what the build is made of waits for this, and every object for such a file.
begin: remember | $(first)
.PHONY: begin

# One goal is made on all processors, several are made one after the other. -j N of the command line is stronger.
several := $(word 2,$(or $(goals),$(first)))
told    := $(filter -j%,$(shell printenv MAKEFLAGS))
ifeq ($(MAKELEVEL)$(several)$(told),0)
MAKEFLAGS += -j$(shell nproc)
endif
