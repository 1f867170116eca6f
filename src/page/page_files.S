/* The files of the page as they stand, inside drover's read-only data. The scripts are one, in this order. */

    .section .rodata
    .global drover_page_skeleton_begin, drover_page_skeleton_end
    .global drover_page_style_begin, drover_page_style_end
    .global drover_page_script_begin, drover_page_script_end
drover_page_skeleton_begin:
    .incbin REPORT_HTML
drover_page_skeleton_end:
drover_page_style_begin:
    .incbin REPORT_CSS
drover_page_style_end:
drover_page_script_begin:
    .incbin DATA_JS
    .incbin WORDS_JS
    .incbin DRAWING_JS
    .incbin TIME_SCALE_JS
    .incbin RATE_CURVE_JS
    .incbin BARS_JS
    .incbin CELLS_JS
    .incbin TIMELINE_JS
    .incbin HISTOGRAM_JS
    .incbin REPORT_JS
drover_page_script_end:
    .byte 0

    .section .note.GNU-stack, "", %progbits
