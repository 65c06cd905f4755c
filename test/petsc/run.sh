#!/bin/sh
# run.sh BUILT [bench-petsc]: an unmodified PETSc program prints the same with SEQAIJ's products as with BUILT/libspmv_petsc.so,
# on one, two and four ranks. bench-petsc: the time of a product of both instead, on matrices of six classes.
set -u
cd "$(dirname "$0")/../.." || exit 66
built=$1
sh src/bindings/petsc/build.sh "$built" || exit
command -v mpirun >/dev/null || { echo "run.sh: no mpirun: install openmpi-bin" >&2; exit 69; }
for program in solve speed; do
    ${MPICC:-mpicc} -std=gnu11 -O2 -Wall -Wextra $(pkg-config --cflags PETSc | sed 's/-I/-isystem /g') \
        test/petsc/$program.c -o "$built/petsc_$program" $(pkg-config --libs PETSc) -lm || exit
done
# Open MPI starts neither as root nor more ranks than there are cores unless asked.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PETSC_OPTIONS="-dll_append $built/libspmv_petsc.so"
unset OMP_NUM_THREADS

if [ -n "${2:-}" ]; then
    for ranks in 1 2; do
        echo "$ranks ranks"
        mpirun -np $ranks "$built/petsc_speed" || exit
    done
    exit
fi

work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
count() { if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $2"; fi; }
ours="-mat_seqaij_type seqaijspmv"

# Iterations, and norms of all that changes a matrix; a named kernel multiplies from the first product, one that has
# the values in a store of its own and one that reads SEQAIJ's.
for ranks in 1 2 4; do
    for solver in "-ksp_type cg -pc_type jacobi -products" "-ksp_type gmres -pc_type bjacobi -sub_pc_type ilu" \
        "-ksp_type cg -pc_type gamg" "-ksp_type cg -pc_type jacobi -products -n 1" "-ksp_type cg -pc_type jacobi -products -matrix elasticity"; do
        run="mpirun -np $ranks $built/petsc_solve $solver -ksp_rtol 1e-10"
        $run >"$work/aij" 2>&1
        for kernel in sell_slices csr_balanced; do
            $run $ours -mat_spmv_kernel $kernel >"$work/ours" 2>&1 && cmp -s "$work/aij" "$work/ours" &&
                grep -q '^new pattern: .*, solved' "$work/ours"
            count $? "$run $kernel"
            diff "$work/aij" "$work/ours" | head -n 5 | cut -c -120
        done
    done
done

# Left to itself the library makes a plan on each rank after some products, and writes new values into it.
mpirun -np 2 "$built/petsc_solve" $ours -matrix box27 -n 36 -ksp_type cg -pc_type jacobi -ksp_rtol 1e-10 -info :mat \
    >"$work/info" 2>&1 && [ "$(grep -c 'prepare()' "$work/info")" -ge 2 ] &&
    [ "$(grep -c 'refill(): new values: written' "$work/info")" -ge 2 ] && [ "$(grep -c ', solved' "$work/info")" = 5 ]
count $? "the library's choice"
# Every way of multiplying has a plan: one vector or a dense matrix, by the matrix or its transpose.
"$built/petsc_solve" $ours -mat_spmv_kernel sell_slices -products -info :mat >"$work/info" 2>&1
for way in "" "transposed, " "of a dense matrix, " "transposed, of a dense matrix, "; do
    grep -q "prepare(): sell_slices, threads: [0-9]*: ${way}named" "$work/info"
    count $? "a plan: ${way:-one vector}"
done
# Ranks that may run on all cores divide them.
ranks=$(nproc)
mpirun -np "$ranks" --bind-to none "$built/petsc_solve" $ours -mat_spmv_kernel csr_balanced -info :mat >"$work/info" 2>&1 &&
    grep -q 'prepare(): csr_balanced, threads: 1:' "$work/info" && ! grep 'prepare()' "$work/info" | grep -qv 'threads: 1:'
count $? "$ranks ranks on as many cores have one thread each"
# An unknown kernel is an error that says so.
"$built/petsc_solve" $ours -mat_spmv_kernel csr_none >"$work/error" 2>&1
[ $? != 0 ] && grep -q csr_none "$work/error"
count $? "an unknown kernel"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
