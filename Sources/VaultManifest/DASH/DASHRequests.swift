/// Recognizes the elements of an MPD that make a player request something other than media.
enum DASHRequests {
    /// Returns whether an element would make a player bypass the vault, so that it must be left out.
    ///
    /// - Parameter readsAgain: whether players reload the MPD, and are allowed to see where it came from.
    static func areMade(by element: MarkupElement, readsAgain: Bool) -> Bool {
        let scheme = element["schemeIdUri"]?.trimmingSpace() ?? ""
        switch element.localName {
        // These elements ask for playback reports, name a server that chooses the hosts to play from, or name patches
        // of the manifest, which would contain URIs of the origin. Without a patch, players reload the whole manifest.
        case "Metrics", "Reporting", "ClientDataReporting", "ContentSteering", "PatchLocation": return true
        // Players reload only a live manifest. Without a `Location`, they reload it from its own URL. Some players
        // resolve references against the URL in `Location` instead of the manifest's.
        case "Location": return !readsAgain
        // A stored response from a time server is worse than none, and a direct request would bypass the vault.
        case "UTCTiming": return !scheme.hasPrefix("urn:mpeg:dash:utc:direct:")
        case "EventStream", "InbandEventStream": return requestingEvents.contains { scheme.hasPrefix($0) }
        default: return false
        }
    }

    /// The schemes of events with a URL that players request, and of events that name other manifests.
    private static let requestingEvents = [
        "urn:mpeg:dash:event:callback:", "urn:mpeg:dash:event:alternativeMPD:",
    ]

    /// The schemes of properties whose values list manifests to play next or as a fallback.
    static let manifestSchemes: Set<String> = ["urn:mpeg:dash:chaining:2016", "urn:mpeg:dash:fallback:2016"]

    /// The scheme of the property whose attribute `url` names a font for subtitles.
    static let fontScheme = "urn:dvb:dash:fontdownload:2014"
}
