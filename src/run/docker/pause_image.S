// The pause program as it is copied into warm containers.
        .section .rodata
        .globl  drover_pause_program
        .globl  drover_pause_program_end
        .balign 16
drover_pause_program:
        .incbin DROVER_PAUSE_PROGRAM
drover_pause_program_end:
        .section .note.GNU-stack, "", %progbits
