import VaultModel

/// The page files in the form in which the service sends them to browsers. They are built into the program, and are the
/// same for everyone.
///
/// The name of their folder contains a hash of all files, so a browser can cache them until the service is updated. The
/// browser revalidates only the page at `/`, which names the folder.
struct PageFiles: Sendable {
    /// The path of the folder that contains all files except the first page.
    let folder: String
    private let answers: [String: Answer]
    /// The same answers, compressed.
    private let compressed: [String: Answer]

    static let shared = PageFiles(contents)

    /// The name and the content of each file.
    private static let contents: [(name: String, content: [UInt8])] = [
        ("access.js", PackageResources.access_js),
        ("api.js", PackageResources.api_js),
        ("app.js", PackageResources.app_js),
        ("arrows.js", PackageResources.arrows_js),
        ("card.js", PackageResources.card_js),
        ("chapters.js", PackageResources.chapters_js),
        ("collections.js", PackageResources.collections_js),
        ("covers.js", PackageResources.covers_js),
        ("groups.js", PackageResources.groups_js),
        ("downloads.js", PackageResources.downloads_js),
        ("feeds.js", PackageResources.feeds_js),
        ("health.js", PackageResources.health_js),
        ("icon.png", PackageResources.icon_png),
        ("icon.svg", PackageResources.icon_svg),
        ("icons.js", PackageResources.icons_js),
        ("index.html", PackageResources.index_html),
        ("keyboard.js", PackageResources.keyboard_js),
        ("keys.js", PackageResources.keys_js),
        ("manifest.webmanifest", PackageResources.manifest_webmanifest),
        ("mediasession.js", PackageResources.mediasession_js),
        ("menu.js", PackageResources.menu_js),
        ("play.js", PackageResources.play_js),
        ("playback.js", PackageResources.playback_js),
        ("player.css", PackageResources.player_css),
        ("player.js", PackageResources.player_js),
        ("positions.js", PackageResources.positions_js),
        ("preferences.js", PackageResources.preferences_js),
        ("qr.js", PackageResources.qr_js),
        ("queue.js", PackageResources.queue_js),
        ("queuelist.js", PackageResources.queuelist_js),
        ("renditions.js", PackageResources.renditions_js),
        ("rows.js", PackageResources.rows_js),
        ("seek.js", PackageResources.seek_js),
        ("settings.js", PackageResources.settings_js),
        ("shelf.css", PackageResources.shelf_css),
        ("shelf.js", PackageResources.shelf_js),
        ("sleep.js", PackageResources.sleep_js),
        ("states.js", PackageResources.states_js),
        ("storage.js", PackageResources.storage_js),
        ("style.css", PackageResources.style_css),
        ("subtitles.js", PackageResources.subtitles_js),
        ("texts-owner.js", PackageResources.texts_owner_js),
        ("texts.js", PackageResources.texts_js),
        ("title.js", PackageResources.title_js),
        ("titles.js", PackageResources.titles_js),
        ("tracks.js", PackageResources.tracks_js),
        ("tuning.js", PackageResources.tuning_js),
        ("ui.js", PackageResources.ui_js),
        ("upnext.js", PackageResources.upnext_js),
        ("viewers.js", PackageResources.viewers_js),
        ("worker.js", PackageResources.worker_js),
    ]

    private static let first = "index.html"
    /// The text that stands for ``folder`` in the files.
    private static let placeholder = "/pages/"

    init(_ contents: [(name: String, content: [UInt8])]) {
        let folder = "\(Self.placeholder)\(Self.version(of: contents))/"
        self.folder = folder
        answers = Dictionary(
            uniqueKeysWithValues: contents.map { name, content in
                let path = name == Self.first ? "/" : folder + name
                return (path, Self.answer(name, content, in: folder))
            })
        compressed = answers.mapValues(Self.compressed)
    }

    /// Returns the answer to a request for a page.
    ///
    /// - Parameters:
    ///   - target: the request's raw target, whose query is ignored.
    ///   - origin: the service's scheme, host and port, as the request names them.
    ///   - tag: the value of `If-None-Match`.
    ///   - codings: the value of `Accept-Encoding`.
    func answer(
        to target: String, at origin: String, knowing tag: String? = nil, accepting codings: String? = nil
    ) -> Answer {
        let path = String(target.prefix { $0 != "?" })
        guard var answer = (Self.isGzip(in: codings) ? compressed : answers)[path] else { return ErrorAnswer.notFound }
        answer.fields.append(name: "Content-Security-Policy", value: policy(at: origin))
        guard let tag, tag == answer.fields["ETag"] else { return answer }
        var known = answer
        (known.status, known.body) = (304, [])
        return known
    }

    /// The answer to a request for a page if the service uses plain HTTP that other machines can reach. Pages are
    /// refused there because anyone on the network between could change them.
    static let needTLS = Answer(
        status: 403, type: "text/plain; charset=utf-8",
        body: """
            MediaVault shows its pages to other machines only over TLS, because anyone on the network between could read
            and change them. Give the service a certificate and its key, and open its https address; or let it listen on
            127.0.0.1, and open the pages on its own machine. The article Pages of the documentation describes both.

            """.utf8)

    // MARK: One file

    private static func answer(_ name: String, _ content: [UInt8], in folder: String) -> Answer {
        let isFirst = name == first
        var body = content
        // Scripts refer to each other by relative paths, but the page is outside the folder, and the manifest also
        // refers to paths outside it. Both therefore need the folder's full path.
        if isFirst || name.hasSuffix(".webmanifest") {
            body = Array(String(decoding: content, as: UTF8.self).replacing(placeholder, with: folder).utf8)
        }
        var answer = Answer(status: 200, type: type(of: name), body: body)
        answer.fields = answer.fields.without("Cache-Control")
        answer.fields.append(
            name: "Cache-Control", value: isFirst ? "no-cache" : "public, max-age=31536000, immutable")
        answer.fields.append(name: "ETag", value: "\"\(folder.split(separator: "/").last ?? "")\"")
        answer.fields.append(name: "Vary", value: "Accept-Encoding")
        // The worker's file is in the folder, but the worker must also control the page at the root.
        if name == "worker.js" { answer.fields.append(name: "Service-Worker-Allowed", value: "/") }
        return answer
    }

    /// Returns whether gzip is among the codings that a browser accepts (RFC 9110 §12.5.3).
    private static func isGzip(in codings: String?) -> Bool {
        (codings ?? "").split(separator: ",").contains { coding in
            let parts = coding.split(separator: ";").map { $0.filter { $0 != " " } }
            return parts.first?.isEqualIgnoringCase("gzip") == true
                && !["q=0", "q=0.0", "q=0.00", "q=0.000"].contains(parts.last)
        }
    }

    private static func compressed(_ answer: Answer) -> Answer {
        var smaller = answer
        guard let body = Gzip.compressed(answer.body) else { return answer }
        smaller.body = body
        smaller.fields.append(name: "Content-Encoding", value: "gzip")
        return smaller
    }

    /// Returns the policy that restricts the pages to their own files and to the service's API and media (CSP Level 3).
    ///
    /// Scripts may come only from the pages' folder, because files from origins are served at the same address.
    private func policy(at origin: String) -> String {
        // A policy cannot name an IPv6 address. At such an address, only ``RequestGate`` prevents media from being run.
        let isNameable = origin.dropFirst(8).utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x2D...0x3A).contains(byte)
        }
        // Requests for a loopback address may come from a proxy that names the service's own address, which is not the
        // address that the browser uses.
        let isOfBrowser = !["://localhost", "://127."].contains { origin.contains($0) }
        let own = isNameable && isOfBrowser ? origin + folder : "'self'"
        return [
            "default-src 'none'", "script-src \(own)", "style-src \(own)", "img-src 'self' data: blob:",
            "media-src 'self' blob:", "connect-src 'self'", "manifest-src \(own)", "worker-src \(own)",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        ].joined(separator: "; ")
    }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        default: "application/manifest+json"
        }
    }

    /// Returns the folder's name, a 64-bit FNV-1a hash that only distinguishes versions. It protects nothing.
    private static func version(of contents: [(name: String, content: [UInt8])]) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for (name, content) in contents {
            for byte in Array(name.utf8) + [0] + content + [0] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        }
        return String(hash, radix: 36)
    }
}
