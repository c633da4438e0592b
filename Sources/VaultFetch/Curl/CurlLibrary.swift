import CCurl

/// libcurl as a whole, which is started once in a process.
enum CurlLibrary {
    /// Whether libcurl could be started; starts it when first asked.
    static let isUsable: Bool = {
        ccurl_forbid_exit_handler()
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()
}
