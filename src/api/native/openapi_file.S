/* The description of the API as it stands, inside drover's read-only data. */

    .section .rodata
    .global drover_openapi_begin, drover_openapi_end
drover_openapi_begin:
    .incbin OPENAPI_YAML
drover_openapi_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
