/// The elements of an MPD that make a player request something that is no media.
enum DASHRequests {
    /// Returns whether an element would make a player ask around the vault, so that it is left out.
    ///
    /// - Parameter readsAgain: whether the MPD is read again and again, and where may be seen in it.
    static func areMade(by element: MarkupElement, readsAgain: Bool) -> Bool {
        let scheme = element["schemeIdUri"]?.trimmingSpace() ?? ""
        switch element.localName {
        // Reports of what is played; a server that names hosts to play from; and changes of the manifest that would
        // contain URIs of the origin. Players read a whole manifest again if there is no patch.
        case "Metrics", "Reporting", "ClientDataReporting", "ContentSteering", "PatchLocation": return true
        // Only a live manifest is read again, without this from its own URL. Some players resolve against this URL
        // instead of the manifest's.
        case "Location": return !readsAgain
        // A time that was kept is worse than none, and a time server is asked around the vault.
        case "UTCTiming": return !scheme.hasPrefix("urn:mpeg:dash:utc:direct:")
        case "EventStream", "InbandEventStream": return requestingEvents.contains { scheme.hasPrefix($0) }
        default: return false
        }
    }

    /// Events with a URL that players request, and events that name other manifests.
    private static let requestingEvents = [
        "urn:mpeg:dash:event:callback:", "urn:mpeg:dash:event:alternativeMPD:",
    ]

    /// Properties whose value lists manifests: what plays next, and what plays instead.
    static let manifestSchemes: Set<String> = ["urn:mpeg:dash:chaining:2016", "urn:mpeg:dash:fallback:2016"]

    /// The property whose attribute `url` is a font for subtitles.
    static let fontScheme = "urn:dvb:dash:fontdownload:2014"
}
