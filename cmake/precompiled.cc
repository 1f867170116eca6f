// The one translation unit that the precompiled header is made for.
