#!/bin/sh
# stale.sh RULE...: prints how many objects make will compile. A RULE, "OBJECT...: FILE", and the .d beside every OBJECT
# say which files it is made of. An OBJECT that is missing, or older than one of them, or has lost one, is compiled.
rules=$(
    printf '%s\n' "$@"
    printf '%s\n' "$@" | sed 's/:.*//' | tr -s ' ' '\n' | sed -n 's/\.o$/.d/p' | xargs cat 2>/dev/null
)
{
    printf '%s\n' "$rules" | tr -s ' \\' '\n\n' | sed 's/:$//' | sort -u | xargs stat -c '%.9Y %n' 2>/dev/null
    printf '%s\n' "$rules"
} | awk '
    NF == 2 && $1 ~ /^[0-9]+\.[0-9]+$/ { age[$2] = $1 ""; next }
    {
        for (i = 1; i <= NF && $i != "\\"; i++) {
            if (files) {
                for (t = 1; t <= n; t++)
                    if (!(target[t] in age) || !($i in age) || age[$i] > age[target[t]]) stale[target[t]]
            } else {
                files = sub(/:$/, "", $i)
                if ($i != "") target[++n] = $i
            }
        }
        if ($NF != "\\") n = files = 0
    }
    END { for (o in stale) count++; print count + 0 }'
