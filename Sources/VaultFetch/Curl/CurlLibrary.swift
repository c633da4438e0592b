import CCurl

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// libcurl as a whole, which is started once in a process.
enum CurlLibrary {
    /// Whether libcurl could be started; starts it when first asked.
    static let isUsable: Bool = {
        ccurl_forbid_exit_handler()
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// Whether the file of trusted authorities that libcurl was built with is there.
    static let hasAuthoritiesFile: Bool = {
        guard let path = unsafe ccurl_authorities_file() else { return false }
        return unsafe access(path, R_OK) == 0
    }()
}
