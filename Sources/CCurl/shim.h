#ifndef MEDIAVAULT_CCURL_SHIM_H
#define MEDIAVAULT_CCURL_SHIM_H

#include <curl/curl.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

// libcurl's variadic functions, which Swift cannot call. There is one shim for each C type that an option takes.
// libcurl checks options against arguments only under GCC, so the type given here is the only check.

/// Sets an option that takes a `long`: a number or a switch (an `int` or a `bool` would be read as garbage).
static inline CURLcode ccurl_set_long(CURL *_Nonnull handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

/// Sets an option that takes a C string; libcurl copies it.
static inline CURLcode ccurl_set_string(CURL *_Nonnull handle, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}

/// Sets an option that takes a list of strings; libcurl keeps the pointer for the handle's lifetime.
static inline CURLcode ccurl_set_list(CURL *_Nonnull handle, CURLoption option, struct curl_slist *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}

/// Sets an option that takes bytes; libcurl copies them.
static inline CURLcode ccurl_set_bytes(
    CURL *_Nonnull handle, CURLoption option, const void *_Nonnull bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(handle, option, &blob);
}

/// Sets an option that takes the context pointer of a callback.
static inline CURLcode ccurl_set_pointer(CURL *_Nonnull handle, CURLoption option, void *_Nullable value) {
    return curl_easy_setopt(handle, option, value);
}

/// The callback for received bytes of the body or the head; `size` is always 1.
typedef size_t (*ccurl_receiver)(char *_Nullable bytes, size_t size, size_t count, void *_Nullable context);

/// Sets an option that takes a receiver: `CURLOPT_WRITEFUNCTION` or `CURLOPT_HEADERFUNCTION`.
static inline CURLcode ccurl_set_receiver(CURL *_Nonnull handle, CURLoption option, ccurl_receiver _Nonnull value) {
    return curl_easy_setopt(handle, option, value);
}

/// Gets information that is a `long`.
static inline CURLcode ccurl_get_long(CURL *_Nonnull handle, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(handle, info, value);
}

/// Gets information that is a list of strings, which the caller frees.
static inline CURLcode ccurl_get_list(
    CURL *_Nonnull handle, CURLINFO info, struct curl_slist *_Nullable *_Nonnull value) {
    return curl_easy_getinfo(handle, info, value);
}

/// The callback for a socket that libcurl has created but not yet connected.
typedef int (*ccurl_socket_observer)(void *_Nullable context, curl_socket_t socket, curlsocktype purpose);

/// Sets the option that takes such an observer: `CURLOPT_SOCKOPTFUNCTION`.
static inline CURLcode ccurl_set_socket_observer(
    CURL *_Nonnull handle, CURLoption option, ccurl_socket_observer _Nonnull value) {
    return curl_easy_setopt(handle, option, value);
}

/// The callback that opens a socket for an address; it returns -1 to refuse the address.
typedef curl_socket_t (*ccurl_socket_opener)(
    void *_Nullable context, curlsocktype purpose, struct curl_sockaddr *_Nonnull address);

/// Sets the option that takes such an opener: `CURLOPT_OPENSOCKETFUNCTION`.
static inline CURLcode ccurl_set_socket_opener(
    CURL *_Nonnull handle, CURLoption option, ccurl_socket_opener _Nonnull value) {
    return curl_easy_setopt(handle, option, value);
}

/// Returns the socket address, whose length depends on its family and not on the declared type.
static inline const struct sockaddr *_Nonnull ccurl_socket_address(const struct curl_sockaddr *_Nonnull address) {
    return &address->addr;
}

/// The callback before a request is sent on a new or kept connection, with both ends of the connection.
typedef int (*ccurl_request_guard)(
    void *_Nullable context, char *_Nonnull remote, char *_Nonnull local, int remote_port, int local_port);

/// Sets the option that takes such a guard: `CURLOPT_PREREQFUNCTION`.
static inline CURLcode ccurl_set_request_guard(
    CURL *_Nonnull handle, CURLoption option, ccurl_request_guard _Nonnull value) {
    return curl_easy_setopt(handle, option, value);
}

/// Sets an option of the multi handle that takes a `long`.
static inline CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// Returns the file of certificate authorities that libcurl was built with, or NULL if it has none.
static inline const char *_Nullable ccurl_authorities_file(void) {
    const curl_version_info_data *facts = curl_version_info(CURLVERSION_NOW);
    return facts && facts->age >= CURLVERSION_SEVENTH ? facts->cainfo : NULL;
}

/// Initializes OpenSSL without its exit handler, if libcurl has loaded it.
///
/// The handler frees data that the loop's thread may still use while the process ends. The function is looked up by
/// name, so that nothing links libcrypto. Call this before `curl_global_init`.
static inline void ccurl_forbid_exit_handler(void) {
    const uint64_t no_atexit = 0x00080000; // OPENSSL_INIT_NO_ATEXIT
    int (*start)(uint64_t, const void *) = (int (*)(uint64_t, const void *))dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto");
    if (start) start(no_atexit, NULL);
}

#endif
