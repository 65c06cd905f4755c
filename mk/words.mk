# words.mk: short names used by the other parts.

MAKEFLAGS += --no-builtin-rules
.SECONDEXPANSION: # $$ in prerequisites is expanded when the target is known: $$* is the stem of %

Q := $(if $(V),,@)# V=1 shows every command
comma := ,
space := $() $()
quoted = '$(subst ','\'',$(1))'# quotes for the shell
once   = $(eval $(1) := $$(2))$($(1))# NAME = $(call once,NAME,VALUE): VALUE is evaluated on first use of NAME, and kept
