extension MediaURL {
    /// Scheme, host and port: what may see the credentials that were given for it.
    package var origin: String { "\(scheme)://\(authority)" }

    /// The same URL without the user name and password that stood before its host.
    package var withoutCredentials: MediaURL {
        MediaURL(scheme: scheme, host: host, port: port, path: path, query: query)
    }

    func replacing(host: String, port: Int?) -> MediaURL {
        MediaURL(scheme: scheme, host: host, port: port, path: path, query: query, userInfo: userInfo)
    }

    func replacing(query: String?) -> MediaURL {
        MediaURL(scheme: scheme, host: host, port: port, path: path, query: query, userInfo: userInfo)
    }
}
