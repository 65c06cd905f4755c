#!/bin/sh
# changed.sh FILE WORDS [OBJECTS]: keeps WORDS in FILE, which is written only when they change: make then builds again
# what depends on it. OBJECTS says what that is: a change is then told, with the words that went and came.
mkdir -p "$(dirname "$1")"
printf '%s\n' "$2" >"$1.new" || exit 73
if cmp -s "$1.new" "$1"; then rm "$1.new"; exit; fi
words() { tr -s ' ' '\n' <"$1"; }
only_in() { words "$1" | grep -vxF -e "$(words "$2")" | tr '\n' ' '; }
if [ -e "$1" ] && [ -n "${3:-}" ]; then
    went=$(only_in "$1" "$1.new") came=$(only_in "$1.new" "$1")
    echo "  flags changed (${went:-nothing }-> ${came:-nothing }): building $3 again" | sed 's/ ): /): /'
fi
mv "$1.new" "$1"
