#ifndef MEDIAVAULT_CCURL_CERTIFICATE_H
#define MEDIAVAULT_CCURL_CERTIFICATE_H

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

// The validity dates of a certificate that OpenSSL rejects because of them. libcurl reports the dates of accepted
// certificates only.
//
// OpenSSL's functions are looked up by name, so that nothing links it; its types stay opaque.

/// A certificate that was rejected because of its dates. Times are in seconds since 1970.
struct ccurl_outdated {
    /// Whether a certificate was rejected and both its dates could be read.
    bool is_known;
    /// How many certificates separate it from the peer's own, which has depth 0.
    int depth;
    int64_t not_before;
    int64_t not_after;
};

/// Returns the OpenSSL function of that name, or NULL.
static inline void *_Nullable ccurl_openssl(const char *_Nonnull name) { return dlsym(RTLD_DEFAULT, name); }

static inline bool ccurl_read_time(const void *_Nullable time, int64_t *_Nonnull seconds) {
    int (*parts)(const void *, struct tm *) = (int (*)(const void *, struct tm *))ccurl_openssl("ASN1_TIME_to_tm");
    struct tm read;
    if (!parts || !time || parts(time, &read) != 1) return false;
    *seconds = timegm(&read);
    return true;
}

/// Keeps the dates of a certificate that is rejected because of them, and leaves the verdict unchanged.
static inline int ccurl_keep_dates(int accepted, void *_Nonnull check) {
    if (accepted) return accepted;
    int (*error)(const void *) = (int (*)(const void *))ccurl_openssl("X509_STORE_CTX_get_error");
    int (*depth)(const void *) = (int (*)(const void *))ccurl_openssl("X509_STORE_CTX_get_error_depth");
    void *(*certificate)(const void *) = (void *(*)(const void *))ccurl_openssl("X509_STORE_CTX_get_current_cert");
    void *(*data)(const void *, int) = (void *(*)(const void *, int))ccurl_openssl("X509_STORE_CTX_get_ex_data");
    int (*place)(void) = (int (*)(void))ccurl_openssl("SSL_get_ex_data_X509_STORE_CTX_idx");
    void *(*context)(const void *) = (void *(*)(const void *))ccurl_openssl("SSL_get_SSL_CTX");
    void *(*owner)(const void *, int) = (void *(*)(const void *, int))ccurl_openssl("SSL_CTX_get_ex_data");
    const void *(*first)(const void *) = (const void *(*)(const void *))ccurl_openssl("X509_get0_notBefore");
    const void *(*last)(const void *) = (const void *(*)(const void *))ccurl_openssl("X509_get0_notAfter");
    if (!error || !depth || !certificate || !data || !place || !context || !owner || !first || !last) return accepted;
    // X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED
    if (error(check) != 9 && error(check) != 10) return accepted;
    const void *connection = data(check, place());
    const void *refused = certificate(check);
    if (!connection || !refused) return accepted;
    struct ccurl_outdated *outdated = (struct ccurl_outdated *)owner(context(connection), 0);
    if (!outdated) return accepted;
    outdated->depth = depth(check);
    outdated->is_known =
        ccurl_read_time(first(refused), &outdated->not_before) && ccurl_read_time(last(refused), &outdated->not_after);
    return accepted;
}

static inline CURLcode ccurl_watch_context(CURL *_Nullable handle, void *_Nonnull context, void *_Nullable outdated) {
    (void)handle;
    int (*set_owner)(void *, int, void *) = (int (*)(void *, int, void *))ccurl_openssl("SSL_CTX_set_ex_data");
    void (*set_check)(void *, int, int (*)(int, void *)) =
        (void (*)(void *, int, int (*)(int, void *)))ccurl_openssl("SSL_CTX_set_verify");
    const int verify_peer = 1; // SSL_VERIFY_PEER, which libcurl has set
    if (set_owner && set_check && set_owner(context, 0, outdated) == 1) set_check(context, verify_peer, ccurl_keep_dates);
    return CURLE_OK;
}

/// Stores the dates of a rejected certificate in `outdated`, which must outlive the connection. The peer is verified.
///
/// Returns false if libcurl does not use OpenSSL.
static inline bool ccurl_keep_outdated(CURL *_Nonnull handle, struct ccurl_outdated *_Nonnull outdated) {
    const curl_version_info_data *facts = curl_version_info(CURLVERSION_NOW);
    if (!facts || !facts->ssl_version || strncmp(facts->ssl_version, "OpenSSL", 7) != 0) return false;
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_DATA, outdated) == CURLE_OK
        && curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, ccurl_watch_context) == CURLE_OK;
}

#endif
