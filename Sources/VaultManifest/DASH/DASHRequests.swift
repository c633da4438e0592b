/// The elements of an MPD that make a player request something other than media.
enum DASHRequests {
    /// Returns whether an element would make a player bypass the vault, and must be left out.
    ///
    /// - Parameter readsAgain: whether players reload the MPD, and may see where from.
    static func areMade(by element: MarkupElement, readsAgain: Bool) -> Bool {
        let scheme = element["schemeIdUri"]?.trimmingSpace() ?? ""
        switch element.localName {
        // Playback reports; a server that names hosts to play from; and patches of the manifest, which would contain
        // URIs of the origin. Without a patch, players reload the whole manifest.
        case "Metrics", "Reporting", "ClientDataReporting", "ContentSteering", "PatchLocation": return true
        // Players reload only a live manifest, and without this element from its own URL. Some players resolve
        // references against this URL instead of the manifest's.
        case "Location": return !readsAgain
        // A stored answer of a time server is worse than none, and a direct request would bypass the vault.
        case "UTCTiming": return !scheme.hasPrefix("urn:mpeg:dash:utc:direct:")
        case "EventStream", "InbandEventStream": return requestingEvents.contains { scheme.hasPrefix($0) }
        default: return false
        }
    }

    /// Events with a URL that players request, and events that name other manifests.
    private static let requestingEvents = [
        "urn:mpeg:dash:event:callback:", "urn:mpeg:dash:event:alternativeMPD:",
    ]

    /// Properties whose values list manifests to play next, or instead.
    static let manifestSchemes: Set<String> = ["urn:mpeg:dash:chaining:2016", "urn:mpeg:dash:fallback:2016"]

    /// The property whose attribute `url` is a font for subtitles.
    static let fontScheme = "urn:dvb:dash:fontdownload:2014"
}
