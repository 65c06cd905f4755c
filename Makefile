# spmv: `make help` lists the targets. Every part below has one subject; mk/ also has the scripts that they call.
# Objects are in build/<backend>[-san]/, so that switching back and forth recompiles nothing.
include mk/words.mk
include mk/goals.mk
include mk/settings.mk
include mk/libraries.mk
include mk/flags.mk
include mk/sources.mk
include mk/progress.mk
include mk/rules.mk
include mk/emulator.mk
include mk/tests.mk
include mk/fuzz.mk
include mk/tables.mk
include mk/install.mk
include mk/upkeep.mk
