# Facts of a matrix, as a table and as JSON; without a matrix a usage error.
  $ $SPMV info -m "$DATA/duplicates.mtx" | sed '/^  format /,$d; /matrix.hash/d'
    matrix.name                duplicates       of the file, or of gen:
    matrix.source              duplicates.mtx   file, without its folder, or gen:
    matrix.rows                3                number of rows
    matrix.cols                3                number of columns
    matrix.nnz                 3                entries in use: symmetry expanded, duplicates summed
    matrix.nnz_file            5                entries stored in the file
    matrix.explicit_zeros      1                stored zeros in the file; kept
    matrix.duplicates          2                entries of the file added to an earlier one
    matrix.field               real             of the file
    matrix.symmetry            general          of the file
    structure.pattern_symmetry 0.666667         share of entries (i,j) that have (j,i)
    structure.value_symmetry   0.666667         share whose (j,i) holds the same bits
    rows.mean                  1                mu: nonzeros per row
    rows.std                   0                standard deviation of the row lengths
    rows.sigma_cmrs            0                sigma of the CMRS paper: standard deviation / sqrt(mu)
    rows.min                   1                shortest row
    rows.max                   1                longest row
    rows.empty                 0                rows without entries
    rows.gini                  0                skew of the row lengths: 0 all equal, 1 all entries in one row
    cols.empty                 1                columns without entries
    cols.max                   2                fullest column
    structure.bandwidth        2                largest |i - j|
    structure.diagonals        2                distinct j - i
    structure.main_diagonal    0.666667         share of the main diagonal stored
    structure.fill_2x2         0.375            entries / cells of the 2x2 blocks that hold any
    structure.fill_3x3         0.333333         the same of the 3x3 blocks
    structure.fill_4x4         0.1875           the same of the 4x4 blocks
    structure.fill_8x8         0.046875         the same of the 8x8 blocks
    structure.contiguous       0                share of entries whose left neighbour is stored too
    windows.kept_8             1.5              nonzeros per distinct column of 8 rows in the order of the matrix
    windows.kept_32            1.5              nonzeros per distinct column of 32 rows in the order of the matrix
    windows.kept_256           1.5              nonzeros per distinct column of 256 rows in the order of the matrix
    windows.by_ends_8          1.5              nonzeros per distinct column of 8 rows of rows sorted by first and last column
    windows.by_ends_32         1.5              nonzeros per distinct column of 32 rows of rows sorted by first and last column
    windows.by_ends_256        1.5              nonzeros per distinct column of 256 rows of rows sorted by first and last column
    windows.by_walk_8          1.33333          nonzeros per distinct column of 8 rows of rows met in a breadth-first walk
    windows.by_walk_32         1.33333          nonzeros per distinct column of 32 rows of rows met in a breadth-first walk
    windows.by_walk_256        1.33333          nonzeros per distinct column of 256 rows of rows met in a breadth-first walk
    values.distinct            3                distinct values, by bits
    values.exact_f32           1                share that f32 holds exactly
    product.op                 as-is            as-is, or transpose (-T): then all this is of the transpose, but what is of the file
    product.vectors            1                that are multiplied at once (--vectors)
    product.layout             columns          of several vectors (--layout)
    product.vectors_B          48               x and y, of all vectors
    product.flop               6                2 nnz of each vector
  $ $SPMV info
  ! spmv: info: name matrices, such as 'spmv info thermal2.mtx gen:mesh:100000'
  [64]
# What a format cannot hold is said, as a run says it; parameters given are used, or refused.
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 268435457 1\n1 1 1\n' >wide.mtx
  $ $SPMV info -m wide.mtx | grep -A 1 '^  cmrs'
    cmrs                       -          -         -
      the matrix has 268435457 columns, cmrs has room for 268435456: 28 bits an index
  $ $SPMV info -m gen:mesh:1000 --slice=64 --height=16 -p f32 | grep -E '^  (format|sell|cmrs|spc5) |^    not' | sed 's/  *$//'
    format              MB (f32)  bytes/nnz   padding
    spc5                       -          -         -
      not with --height=16
    sell                    0.08      11.80     39.9%
    cmrs                    0.05       8.04      0.0%
  $ $SPMV info -m gen:giantrow:12000:12000 | grep -A 1 -E '^  ell '
    ell                  1728.05   36003.25         -
      mostly padding, so not built (--max-mem builds it)
  $ $SPMV info -m gen:dense:3 -b 64
  ! spmv: info: --block applies to no format
  [64]
  $ $SPMV info -m gen:dense:3 --height=2,4
  ! spmv: info: --height takes one value here
  [64]
  $ $SPMV info -m gen:dense:3 -p f32,f64
  ! spmv: info: --precision takes one value here
  [64]
