# words.mk: short names that the other parts use.

MAKEFLAGS += --no-builtin-rules
.SECONDEXPANSION: # $$ in prerequisites is expanded when the target is known: $$* is what % stands for

Q := $(if $(V),,@)# V=1 shows every command
comma := ,
space := $() $()
quoted = '$(subst ','\'',$(1))'# for the shell
once   = $(eval $(1) := $$(2))$($(1))# NAME = $(call once,NAME,VALUE): VALUE is found when NAME is first used, and kept
