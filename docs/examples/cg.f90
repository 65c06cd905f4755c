! cg.f90: conjugate gradients for the Poisson equation on a square, in Fortran; every product is one of spmv.
!
!     gfortran $(pkg-config --variable=includedir spmv)/spmv.f90 cg.f90 $(pkg-config --libs spmv) -o cg && ./cg
program cg
    use, intrinsic :: iso_c_binding
    use spmv
    implicit none
    integer, parameter :: side = 100, n = side * side, most_products = 1000
    real(c_double), parameter :: tolerance = 1e-10_c_double
    integer(c_int64_t), target :: ptr(n + 1)
    integer(c_int32_t), target :: idx(5 * n)
    real(c_double), target :: values(5 * n), b(n), x(n), r(n), p(n), q(n)
    real(c_double) :: rho, rho_before, alpha, b_norm
    type(c_ptr) :: ctx, matrix, plan
    type(spmv_ctx_opts) :: ctx_opts
    type(spmv_arrays) :: arrays
    type(spmv_plan_opts) :: plan_opts
    character(kind=c_char), target :: kernel(5) = ["a", "u", "t", "o", c_null_char]
    integer :: products

    call fill
    call check(spmv_ctx_create(ctx_opts, ctx), "spmv_ctx_create")
    arrays%rows = n
    arrays%cols = n
    arrays%nnz = ptr(n + 1) - 1
    arrays%ptr = c_loc(ptr)
    arrays%idx = c_loc(idx)
    arrays%values = c_loc(values)
    arrays%ptr_bits = 64
    arrays%base = 1
    arrays%flags = SPMV_BORROW + SPMV_SORTED + SPMV_VALIDATE
    call check(spmv_mat_create(ctx, arrays, matrix), "spmv_mat_create")
    plan_opts%kernel = c_loc(kernel)
    plan_opts%expected_calls = 300
    call check(spmv_plan_create(matrix, plan_opts, plan), "spmv_plan_create")

    x = 1
    call multiply(x, b) ! so that the solution is 1 everywhere
    x = 0
    r = b
    p = r
    rho = dot_product(r, r)
    b_norm = sqrt(rho)
    products = 0
    do while (sqrt(rho) > tolerance * b_norm .and. products < most_products)
        call multiply(p, q)
        products = products + 1
        alpha = rho / dot_product(p, q)
        x = x + alpha * p
        r = r - alpha * q
        rho_before = rho
        rho = dot_product(r, r)
        p = r + rho / rho_before * p
    end do
    print "(i0, a, es8.1)", products, " products, largest error", maxval(abs(x - 1))

    call spmv_plan_free(plan)
    call spmv_mat_free(matrix)
    call spmv_ctx_free(ctx)
    if (sqrt(rho) > tolerance * b_norm) stop 1

contains

    ! Rows of the five-point Laplacian, columns ascending, all counted from 1.
    subroutine fill
        integer :: i, j, row, k
        k = 1
        do i = 1, side
            do j = 1, side
                row = (i - 1) * side + j
                ptr(row) = k
                if (i > 1) call add(k, row - side, -1.0_c_double)
                if (j > 1) call add(k, row - 1, -1.0_c_double)
                call add(k, row, 4.0_c_double)
                if (j < side) call add(k, row + 1, -1.0_c_double)
                if (i < side) call add(k, row + side, -1.0_c_double)
            end do
        end do
        ptr(n + 1) = k
    end subroutine

    subroutine add(k, column, value)
        integer, intent(inout) :: k
        integer, intent(in) :: column
        real(c_double), intent(in) :: value
        idx(k) = column
        values(k) = value
        k = k + 1
    end subroutine

    subroutine multiply(from, to)
        real(c_double), target, intent(in) :: from(n)
        real(c_double), target, intent(inout) :: to(n)
        call check(spmv_exec(plan, 1.0_c_double, c_loc(from), 0.0_c_double, c_loc(to)), "spmv_exec")
    end subroutine

    subroutine check(status, what)
        integer(c_int), intent(in) :: status
        character(len=*), intent(in) :: what
        if (status == SPMV_OK) return
        print "(3a)", what, ": ", spmv_text(spmv_ctx_error(ctx))
        stop 1
    end subroutine
end program
