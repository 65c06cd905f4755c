# goals.mk: order of goals, and number of jobs.

.DEFAULT_GOAL := omp
# These goals remove or install files. Other goals of the same call (make clean omp, make deps test) wait for them.
firsts := clean deps deps-peers
first  := $(filter $(firsts),$(MAKECMDGOALS))
goals  := $(filter-out $(first),$(MAKECMDGOALS))
deps: | $(filter clean,$(first))
deps-peers: | $(filter clean deps,$(first))
$(goals): | $(first)

# Every file with settings of the build depends on this, and every object depends on such files.
begin: remember | $(first)
.PHONY: begin

# A single goal runs on all processors, several goals run one after the other. -j N on the command line has priority.
several := $(word 2,$(or $(goals),$(first)))
told    := $(filter -j%,$(shell printenv MAKEFLAGS))
ifeq ($(MAKELEVEL)$(several)$(told),0)
MAKEFLAGS += -j$(shell nproc)
endif
