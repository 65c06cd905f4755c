/* exit_codes.h: exit codes of the program. A failure of the library has that of spmv_exit_code. */
#ifndef SPMV_APP_EXIT_CODES_H
#define SPMV_APP_EXIT_CODES_H

enum { EXIT_WRONG = 1, EXIT_SOME_FAILED = 3, EXIT_USAGE = 64 };

#endif
