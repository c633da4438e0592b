#ifndef MEDIAVAULT_CCURL_SHIM_H
#define MEDIAVAULT_CCURL_SHIM_H

#include <curl/curl.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

// What Swift cannot call of libcurl: its variadic functions. One shim for each C type that an option takes. libcurl's
// own check of option against argument works under GCC alone, so the type written here is the only one there is.

/// Options that take a `long`: numbers and switches (an `int` or a `bool` would be read as garbage).
static inline CURLcode ccurl_set_long(CURL *_Nonnull handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

/// Options that take a C string; libcurl copies it.
static inline CURLcode ccurl_set_string(CURL *_Nonnull handle, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}

/// Options that take a list of strings; libcurl keeps the pointer for as long as the handle lives.
static inline CURLcode ccurl_set_list(CURL *_Nonnull handle, CURLoption option, struct curl_slist *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}

/// Options that take the pointer a callback is given back.
static inline CURLcode ccurl_set_pointer(CURL *_Nonnull handle, CURLoption option, void *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}

/// What libcurl calls with received bytes, of the body or of the head: `size` is always 1.
typedef size_t (*ccurl_receiver)(char *_Nullable bytes, size_t size, size_t count, void *_Nullable context);

/// Options that take a receiver: `CURLOPT_WRITEFUNCTION` and `CURLOPT_HEADERFUNCTION`.
static inline CURLcode ccurl_set_receiver(CURL *_Nonnull handle, CURLoption option, ccurl_receiver _Nonnull value) {
    return curl_easy_setopt(handle, option, value);
}

/// Facts that are a `long`.
static inline CURLcode ccurl_get_long(CURL *_Nonnull handle, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(handle, info, value);
}

/// What libcurl calls with a socket that it has made and not yet connected.
typedef int (*ccurl_socket_observer)(void *_Nullable context, curl_socket_t socket, curlsocktype purpose);

/// Options that take such an observer: `CURLOPT_SOCKOPTFUNCTION`.
static inline CURLcode ccurl_set_socket_observer(
    CURL *_Nonnull handle, CURLoption option, ccurl_socket_observer _Nonnull value) {
    return curl_easy_setopt(handle, option, value);
}

/// What libcurl calls for a socket that is to be connected to an address; -1 in its place refuses the address.
typedef curl_socket_t (*ccurl_socket_opener)(
    void *_Nullable context, curlsocktype purpose, struct curl_sockaddr *_Nonnull address);

/// Options that take such an opener: `CURLOPT_OPENSOCKETFUNCTION`.
static inline CURLcode ccurl_set_socket_opener(
    CURL *_Nonnull handle, CURLoption option, ccurl_socket_opener _Nonnull value) {
    return curl_easy_setopt(handle, option, value);
}

/// The socket address itself; it is as long as its family is, whatever the type says.
static inline const struct sockaddr *_Nonnull ccurl_socket_address(const struct curl_sockaddr *_Nonnull address) {
    return &address->addr;
}

/// What libcurl calls before a request goes out on a connection, new or kept, with both ends of it.
typedef int (*ccurl_request_guard)(
    void *_Nullable context, char *_Nonnull remote, char *_Nonnull local, int remote_port, int local_port);

/// Options that take such a guard: `CURLOPT_PREREQFUNCTION`.
static inline CURLcode ccurl_set_request_guard(
    CURL *_Nonnull handle, CURLoption option, ccurl_request_guard _Nonnull value) {
    return curl_easy_setopt(handle, option, value);
}

/// Options of the multi handle that take a `long`.
static inline CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The file of trusted authorities that libcurl was built with; NULL where it has none.
static inline const char *_Nullable ccurl_authorities_file(void) {
    const curl_version_info_data *facts = curl_version_info(CURLVERSION_NOW);
    return facts && facts->age >= CURLVERSION_SEVENTH ? facts->cainfo : NULL;
}

/// Starts OpenSSL, where libcurl brought it along, without its exit handler: that one frees what the loop's thread may
/// still use while the process ends. Looked up by name, so that nothing links libcrypto. Call it before
/// `curl_global_init`.
static inline void ccurl_forbid_exit_handler(void) {
    const uint64_t no_atexit = 0x00080000; // OPENSSL_INIT_NO_ATEXIT
    int (*start)(uint64_t, const void *) = (int (*)(uint64_t, const void *))dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto");
    if (start) start(no_atexit, NULL);
}

#endif
