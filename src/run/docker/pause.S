// What a warm container waits in: it does nothing, and a signal ends it. A whole program, without a library.
#include <sys/syscall.h>

        .text
        .globl  _start
_start:
#if defined(__x86_64__)
        mov     $SYS_pause, %eax
        syscall
        jmp     _start
#elif defined(__aarch64__)
        mov     x0, xzr
        mov     x1, xzr
        mov     x2, xzr
        mov     x3, xzr
        mov     x8, #SYS_ppoll
        svc     #0
        b       _start
#else
#error "this processor has no pause program yet"
#endif
        .section .note.GNU-stack, "", %progbits
