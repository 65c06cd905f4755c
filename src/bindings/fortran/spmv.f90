! spmv.f90: the library's interface for Fortran 2003. Made from include/spmv.h, which says what everything does (make docs): do not edit.
!
! Handles are type(c_ptr). Texts end with c_null_char; spmv_text turns one of the library's into Fortran's. Option types begin with the
! defaults: where C passes NULL for them, pass a variable that was only declared. Arrays are passed with c_loc, so they are targets.
module spmv
    use, intrinsic :: iso_c_binding
    implicit none
    public

    integer(c_int), parameter :: SPMV_OK = 0
    integer(c_int), parameter :: SPMV_E_ARG = -1
    integer(c_int), parameter :: SPMV_E_FORMAT = -2
    integer(c_int), parameter :: SPMV_E_IO = -3
    integer(c_int), parameter :: SPMV_E_WRITE = -4
    integer(c_int), parameter :: SPMV_E_NOMEM = -5
    integer(c_int), parameter :: SPMV_E_TOOBIG = -6
    integer(c_int), parameter :: SPMV_E_UNSUITABLE = -7
    integer(c_int), parameter :: SPMV_E_BACKEND = -8
    integer(c_int), parameter :: SPMV_E_FEATURE = -9
    integer(c_int), parameter :: SPMV_E_DEVICE = -10

    integer(c_int), parameter :: SPMV_F64 = 0
    integer(c_int), parameter :: SPMV_F32 = 1

    integer(c_int), parameter :: SPMV_GENERAL = 0
    integer(c_int), parameter :: SPMV_SYMMETRIC = 1
    integer(c_int), parameter :: SPMV_SKEW_SYMMETRIC = 2

    integer(c_int), parameter :: SPMV_HOST = 0
    integer(c_int), parameter :: SPMV_DEVICE = 1

    integer(c_int), parameter :: SPMV_AS_IS = 1
    integer(c_int), parameter :: SPMV_TRANSPOSE = 2
    integer(c_int), parameter :: SPMV_BOTH = 3

    integer(c_int), parameter :: SPMV_COLUMNS = 1
    integer(c_int), parameter :: SPMV_ROWS = 2

    integer(c_int), parameter :: SPMV_REAL_FIELD = 0
    integer(c_int), parameter :: SPMV_INTEGER_FIELD = 1
    integer(c_int), parameter :: SPMV_PATTERN_FIELD = 2

    type, bind(c) :: spmv_allocator
        type(c_funptr) :: alloc = c_null_funptr
        type(c_funptr) :: release = c_null_funptr
        type(c_ptr) :: user = c_null_ptr
    end type

    type, bind(c) :: spmv_ctx_opts
        integer(c_size_t) :: size = 48
        type(c_ptr) :: backend = c_null_ptr
        integer(c_int) :: device = 0
        integer(c_int) :: threads = 0
        type(c_ptr) :: wisdom = c_null_ptr
        type(c_ptr) :: allocator = c_null_ptr
        integer(c_size_t) :: max_unpacked = 0
    end type

    type, bind(c) :: spmv_coo_view
        integer(c_size_t) :: size = 64
        integer(c_int64_t) :: rows = 0
        integer(c_int64_t) :: cols = 0
        integer(c_int64_t) :: nnz = 0
        type(c_ptr) :: row = c_null_ptr
        type(c_ptr) :: col = c_null_ptr
        type(c_ptr) :: values = c_null_ptr
        integer(c_int) :: symmetry = 0
        integer(c_int) :: field = 0
    end type

    type, bind(c) :: spmv_csr_view
        integer(c_size_t) :: size = 56
        integer(c_int64_t) :: rows = 0
        integer(c_int64_t) :: cols = 0
        integer(c_int64_t) :: nnz = 0
        type(c_ptr) :: row_ptr = c_null_ptr
        type(c_ptr) :: col_idx = c_null_ptr
        type(c_ptr) :: values = c_null_ptr
    end type

    integer(c_int), parameter :: SPMV_COPY = 0
    integer(c_int), parameter :: SPMV_BORROW = 1
    integer(c_int), parameter :: SPMV_SORTED = 2
    integer(c_int), parameter :: SPMV_VALIDATE = 4
    integer(c_int), parameter :: SPMV_VOLATILE = 8

    type, bind(c) :: spmv_arrays
        integer(c_size_t) :: size = 112
        integer(c_int64_t) :: rows = 0
        integer(c_int64_t) :: cols = 0
        integer(c_int64_t) :: nnz = 0
        type(c_ptr) :: ptr = c_null_ptr
        type(c_ptr) :: idx = c_null_ptr
        type(c_ptr) :: values = c_null_ptr
        integer(c_int) :: ptr_bits = 0
        integer(c_int) :: base = 0
        integer(c_int) :: precision = 0
        integer(c_int) :: symmetry = 0
        integer(c_int) :: by_columns = 0
        integer(c_int) :: flags = 0
        integer(c_int) :: place = 0
        type(c_ptr) :: line = c_null_ptr
        integer(c_int) :: block_rows = 0
        integer(c_int) :: block_cols = 0
        integer(c_int) :: idx_bits = 0
    end type

    type, bind(c) :: spmv_load_opts
        integer(c_size_t) :: size = 40
        integer(c_int64_t) :: seed = 0
        type(c_ptr) :: values = c_null_ptr
        type(c_funptr) :: progress = c_null_funptr
        type(c_ptr) :: progress_arg = c_null_ptr
    end type

    type, bind(c) :: spmv_stats
        integer(c_size_t) :: size = 136
        integer(c_int64_t) :: rows = 0
        integer(c_int64_t) :: cols = 0
        integer(c_int64_t) :: nnz = 0
        integer(c_int64_t) :: nnz_file = 0
        integer(c_int64_t) :: duplicates = 0
        integer(c_int64_t) :: explicit_zeros = 0
        integer(c_int64_t) :: row_min = 0
        integer(c_int64_t) :: row_max = 0
        integer(c_int64_t) :: empty_rows = 0
        integer(c_int64_t) :: bandwidth = 0
        real(c_double) :: row_mean = 0
        real(c_double) :: row_std = 0
        integer(c_int64_t) :: hash = 0
        integer(c_int) :: field = 0
        integer(c_int) :: symmetry = 0
        real(c_double) :: read_s = 0
        real(c_double) :: build_s = 0
    end type

    type, bind(c) :: spmv_setting
        type(c_ptr) :: name = c_null_ptr
        integer(c_int64_t) :: value = 0
    end type

    integer(c_int), parameter :: SPMV_WARM = 0
    integer(c_int), parameter :: SPMV_COLD = 1
    integer(c_int), parameter :: SPMV_STEADY = 2

    type, bind(c) :: spmv_plan_opts
        integer(c_size_t) :: size = 104
        type(c_ptr) :: kernel = c_null_ptr
        integer(c_int) :: precision = 0
        integer(c_int) :: offset_bits = 0
        integer(c_size_t) :: max_bytes = 0
        type(c_ptr) :: settings = c_null_ptr
        integer(c_int) :: nsettings = 0
        integer(c_int64_t) :: expected_calls = 0
        integer(c_int) :: nondeterministic = 0
        integer(c_int) :: cache = 0
        integer(c_int) :: threads = 0
        integer(c_int) :: scalars = 0
        integer(c_int) :: refill = 0
        integer(c_int) :: op = 0
        integer(c_int64_t) :: vectors = 0
        integer(c_int) :: layout = 0
        integer(c_int) :: concurrent = 0
        integer(c_int) :: reproducible = 0
    end type

    type, bind(c) :: spmv_plan_facts
        integer(c_size_t) :: size = 296
        type(c_ptr) :: backend = c_null_ptr
        type(c_ptr) :: kernel = c_null_ptr
        type(c_ptr) :: format = c_null_ptr
        type(c_ptr) :: values = c_null_ptr
        integer(c_int) :: offset_bits = 0
        integer(c_int64_t) :: slots = 0
        integer(c_size_t) :: store_bytes = 0
        integer(c_size_t) :: host_bytes = 0
        integer(c_size_t) :: device_bytes = 0
        integer(c_size_t) :: scratch_bytes = 0
        integer(c_size_t) :: traffic_bytes = 0
        real(c_double) :: convert_s = 0
        real(c_double) :: upload_s = 0
        real(c_double) :: prepare_s = 0
        real(c_double) :: from_rows_s = 0
        real(c_double) :: once_s = 0
        type(c_ptr) :: reason = c_null_ptr
        real(c_double) :: tune_s = 0
        integer(c_int) :: timed = 0
        type(c_ptr) :: baseline = c_null_ptr
        real(c_double) :: chosen_product_s = 0
        real(c_double) :: baseline_product_s = 0
        integer(c_size_t) :: flush_bytes = 0
        type(c_ptr) :: wisdom = c_null_ptr
        integer(c_size_t) :: free_bytes = 0
        type(c_ptr) :: note = c_null_ptr
        integer(c_int) :: threads = 0
        integer(c_int) :: concurrent = 0
        integer(c_int) :: refills = 0
        integer(c_int) :: waits_asleep = 0
        integer(c_size_t) :: peak_host_bytes = 0
        integer(c_size_t) :: peak_device_bytes = 0
        type(c_ptr) :: transposed_kernel = c_null_ptr
        type(c_ptr) :: transposed_format = c_null_ptr
        integer(c_size_t) :: transposed_store_bytes = 0
        integer(c_size_t) :: transposed_scratch_bytes = 0
        integer(c_int) :: reproducible = 0
        real(c_double) :: made_s = 0
    end type

    type, bind(c) :: spmv_call
        integer(c_size_t) :: size = 136
        type(c_ptr) :: alpha = c_null_ptr
        type(c_ptr) :: beta = c_null_ptr
        type(c_ptr) :: alpha_f32 = c_null_ptr
        type(c_ptr) :: beta_f32 = c_null_ptr
        type(c_ptr) :: x = c_null_ptr
        type(c_ptr) :: y = c_null_ptr
        type(c_ptr) :: z = c_null_ptr
        integer(c_int64_t) :: k = 0
        integer(c_int64_t) :: ldx = 0
        integer(c_int64_t) :: ldy = 0
        integer(c_int64_t) :: ldz = 0
        integer(c_int) :: layout = 0
        integer(c_int) :: op = 0
        type(c_ptr) :: w = c_null_ptr
        integer(c_int64_t) :: ldw = 0
        type(c_ptr) :: dot_wz = c_null_ptr
        type(c_ptr) :: dot_zz = c_null_ptr
    end type

    interface
        function spmv_ctx_create(opts, out) bind(c)
            import
            type(spmv_ctx_opts), intent(in) :: opts
            type(c_ptr), intent(out) :: out
            integer(c_int) :: spmv_ctx_create
        end function
        subroutine spmv_ctx_free(ctx) bind(c)
            import
            type(c_ptr), value :: ctx
        end subroutine
        function spmv_ctx_error(ctx) bind(c)
            import
            type(c_ptr), value :: ctx
            type(c_ptr) :: spmv_ctx_error
        end function
        function spmv_ctx_note(ctx) bind(c)
            import
            type(c_ptr), value :: ctx
            type(c_ptr) :: spmv_ctx_note
        end function
        function spmv_ctx_threads(ctx) bind(c)
            import
            type(c_ptr), value :: ctx
            integer(c_int) :: spmv_ctx_threads
        end function
        function spmv_backend_available(name) bind(c)
            import
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: spmv_backend_available
        end function
        function spmv_mat_load(ctx, path, opts, out) bind(c)
            import
            type(c_ptr), value :: ctx
            character(kind=c_char), intent(in) :: path(*)
            type(spmv_load_opts), intent(in) :: opts
            type(c_ptr), intent(out) :: out
            integer(c_int) :: spmv_mat_load
        end function
        function spmv_mat_coo(ctx, view, flags, out) bind(c)
            import
            type(c_ptr), value :: ctx
            type(spmv_coo_view), intent(in) :: view
            integer(c_int), value :: flags
            type(c_ptr), intent(out) :: out
            integer(c_int) :: spmv_mat_coo
        end function
        function spmv_mat_csr(ctx, view, out) bind(c)
            import
            type(c_ptr), value :: ctx
            type(spmv_csr_view), intent(in) :: view
            type(c_ptr), intent(out) :: out
            integer(c_int) :: spmv_mat_csr
        end function
        function spmv_mat_create(ctx, arrays, out) bind(c)
            import
            type(c_ptr), value :: ctx
            type(spmv_arrays), intent(in) :: arrays
            type(c_ptr), intent(out) :: out
            integer(c_int) :: spmv_mat_create
        end function
        function spmv_mat_set_values(mat, values, place, stream) bind(c)
            import
            type(c_ptr), value :: mat
            type(c_ptr), value :: values
            integer(c_int), value :: place
            type(c_ptr), value :: stream
            integer(c_int) :: spmv_mat_set_values
        end function
        function spmv_mat_save(mat, path) bind(c)
            import
            type(c_ptr), value :: mat
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: spmv_mat_save
        end function
        subroutine spmv_mat_free(mat) bind(c)
            import
            type(c_ptr), value :: mat
        end subroutine
        function spmv_mat_entries(mat, view) bind(c)
            import
            type(c_ptr), value :: mat
            type(spmv_coo_view), intent(inout) :: view
            integer(c_int) :: spmv_mat_entries
        end function
        function spmv_mat_rows(mat, view) bind(c)
            import
            type(c_ptr), value :: mat
            type(spmv_csr_view), intent(inout) :: view
            integer(c_int) :: spmv_mat_rows
        end function
        function spmv_mat_stats(mat, out) bind(c)
            import
            type(c_ptr), value :: mat
            type(spmv_stats), intent(inout) :: out
            integer(c_int) :: spmv_mat_stats
        end function
        function spmv_vector_load(ctx, path, n, out) bind(c)
            import
            type(c_ptr), value :: ctx
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int64_t), intent(out) :: n
            type(c_ptr), intent(out) :: out
            integer(c_int) :: spmv_vector_load
        end function
        function spmv_vector_save(ctx, path, n, x) bind(c)
            import
            type(c_ptr), value :: ctx
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int64_t), value :: n
            real(c_double), intent(in) :: x(*)
            integer(c_int) :: spmv_vector_save
        end function
        function spmv_plan_create(mat, opts, out) bind(c)
            import
            type(c_ptr), value :: mat
            type(spmv_plan_opts), intent(in) :: opts
            type(c_ptr), intent(out) :: out
            integer(c_int) :: spmv_plan_create
        end function
        subroutine spmv_plan_free(plan) bind(c)
            import
            type(c_ptr), value :: plan
        end subroutine
        function spmv_plan_info(plan, out) bind(c)
            import
            type(c_ptr), value :: plan
            type(spmv_plan_facts), intent(inout) :: out
            integer(c_int) :: spmv_plan_info
        end function
        function spmv_plan_setting(plan, name) bind(c)
            import
            type(c_ptr), value :: plan
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int64_t) :: spmv_plan_setting
        end function
        function spmv_exec(plan, alpha, x, beta, y) bind(c)
            import
            type(c_ptr), value :: plan
            real(c_double), value :: alpha
            type(c_ptr), value :: x
            real(c_double), value :: beta
            type(c_ptr), value :: y
            integer(c_int) :: spmv_exec
        end function
        function spmv_exec_async(plan, alpha, x, beta, y, stream) bind(c)
            import
            type(c_ptr), value :: plan
            real(c_double), value :: alpha
            type(c_ptr), value :: x
            real(c_double), value :: beta
            type(c_ptr), value :: y
            type(c_ptr), value :: stream
            integer(c_int) :: spmv_exec_async
        end function
        function spmv_apply(plan, call, stream) bind(c)
            import
            type(c_ptr), value :: plan
            type(spmv_call), intent(in) :: call
            type(c_ptr), value :: stream
            integer(c_int) :: spmv_apply
        end function
        function spmv_plan_alloc(plan, bytes, out) bind(c)
            import
            type(c_ptr), value :: plan
            integer(c_size_t), value :: bytes
            type(c_ptr), intent(out) :: out
            integer(c_int) :: spmv_plan_alloc
        end function
        subroutine spmv_plan_release(plan, memory) bind(c)
            import
            type(c_ptr), value :: plan
            type(c_ptr), value :: memory
        end subroutine
        function spmv_plan_put(plan, device, host, bytes) bind(c)
            import
            type(c_ptr), value :: plan
            type(c_ptr), value :: device
            type(c_ptr), value :: host
            integer(c_size_t), value :: bytes
            integer(c_int) :: spmv_plan_put
        end function
        function spmv_plan_get(plan, host, device, bytes) bind(c)
            import
            type(c_ptr), value :: plan
            type(c_ptr), value :: host
            type(c_ptr), value :: device
            integer(c_size_t), value :: bytes
            integer(c_int) :: spmv_plan_get
        end function
        function spmv_strerror(status) bind(c)
            import
            integer(c_int), value :: status
            type(c_ptr) :: spmv_strerror
        end function
        function spmv_exit_code(status) bind(c)
            import
            integer(c_int), value :: status
            integer(c_int) :: spmv_exit_code
        end function
        function spmv_version() bind(c)
            import
            type(c_ptr) :: spmv_version
        end function
    end interface

contains

    !> The text that a function returned, "" where that is NULL.
    function spmv_text(text) result(copy)
        type(c_ptr), intent(in) :: text
        character(len=:), allocatable :: copy
        character(kind=c_char), pointer :: letters(:)
        integer :: n
        copy = ""
        if (.not. c_associated(text)) return
        call c_f_pointer(text, letters, [huge(n)])
        n = 0
        do while (letters(n + 1) /= c_null_char)
            n = n + 1
            copy = copy // letters(n)
        end do
    end function
end module
