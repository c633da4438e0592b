#ifndef MEDIAVAULT_CZLIB_SHIM_H
#define MEDIAVAULT_CZLIB_SHIM_H

#include <zlib.h>

/// Compresses bytes into gzip format (RFC 1952), as small as zlib can make them.
///
/// `deflateInit2` is a macro, which Swift cannot call.
///
/// Returns the number of bytes written, or 0 if they do not fit or memory is short.
static inline unsigned long czlib_gzip(
    const unsigned char *_Nonnull bytes, unsigned int count, unsigned char *_Nonnull output, unsigned int capacity) {
    z_stream stream = {0};
    // 15 selects the largest window, and 16 the gzip format.
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (unsigned char *)bytes;
    stream.avail_in = count;
    stream.next_out = output;
    stream.avail_out = capacity;
    int result = deflate(&stream, Z_FINISH);
    unsigned long written = stream.total_out;
    deflateEnd(&stream);
    return result == Z_STREAM_END ? written : 0;
}

/// Expands gzip data (RFC 1952), which may consist of several consecutive members.
///
/// `inflateInit2` is a macro, which Swift cannot call.
///
/// Returns the number of bytes written, -1 if the input is damaged or cut short, or -2 if the output buffer is too
/// small.
static inline long czlib_gunzip(
    const unsigned char *_Nonnull bytes, unsigned int count, unsigned char *_Nonnull output, unsigned int capacity) {
    z_stream stream = {0};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) return -1;
    stream.next_in = (unsigned char *)bytes;
    stream.avail_in = count;
    stream.next_out = output;
    stream.avail_out = capacity;
    int result = inflate(&stream, Z_FINISH);
    while (result == Z_STREAM_END && stream.avail_in > 1 && stream.next_in[0] == 0x1F && stream.next_in[1] == 0x8B) {
        if (inflateReset(&stream) != Z_OK) break;
        result = inflate(&stream, Z_FINISH);
    }
    long written = (long)(stream.next_out - output);
    int is_full = stream.avail_out == 0;
    inflateEnd(&stream);
    if (result == Z_STREAM_END) return written;
    return is_full ? -2 : -1;
}

#endif
