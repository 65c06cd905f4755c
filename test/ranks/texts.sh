#!/bin/sh
# texts.sh FOLDER: writes Matrix Market files that ranks read otherwise than most.
set -eu
work=$1
# Many duplicates at one end: blocks of as many nonzeros are cut otherwise once they are added.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 40, 40, 600
    for (k = 0; k < 400; k++) print 1 + k % 4, 1 + k % 3, k; for (k = 0; k < 200; k++) print 1 + k % 40, 1 + k % 7, -k }' >"$work/many_duplicates.mtx"
# One row, and then two, have more entries than a rank in the mean: they are split.
for long in 1 2; do
    awk -v long=$long 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 3000, 3000, long * 3000 + 700
        for (k = 1; k <= 3000; k++) for (i = 1; i <= long; i++) print 1500 * i - 700, k, (k % 31) / 8 - i
        for (k = 0; k < 700; k++) print 1 + (k * 17) % 3000, 1 + (k * 13) % 3000, k / 4 }' >"$work/long_rows_$long.mtx"
done
for at in 3 4 25 61 62; do # an odd line, which may be the first or the last one of a share
    for how in word index lost added; do
        awk -v at=$at -v how=$how 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 60, 60, 60
            print "% a comment"
            for (k = 3; k <= 62; k++) {
                if (k == at && how == "lost") continue
                print k == at && how == "index" ? 61 : k - 2, 1, k == at && how == "word" ? "x" : k * k
                if (k == at && how == "added") print "% a comment\n7 7 7" } }' >"$work/${how}_$at.mtx"
    done
done
# A text that is dealt out to more than four ranks at a time, in several rounds: 16 MB of blanks, for the most part.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 60, 60, 4000
    for (k = 0; k < 4000; k++) printf "%d %d %d%4000s\n", 1 + k % 60, 1 + k * 7 % 59, k, "" }' | gzip -1 >"$work/padded.mtx.gz"
for name in many_duplicates word_3 word_4 word_25 word_61 word_62; do gzip -c "$work/$name.mtx" >"$work/$name.mtx.gz"; done
