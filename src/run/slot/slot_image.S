/* The helper program as it was linked, inside drover's read-only data. */

    .section .rodata
    .balign 16
    .global drover_slot_image_begin
    .global drover_slot_image_end
drover_slot_image_begin:
    .incbin DROVER_SLOT_PROGRAM
drover_slot_image_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
