import VaultCrypto
import VaultModel

/// A cookie in which a browser remembers the viewers who have signed in on it, so that failed attempts elsewhere cannot
/// lock them out.
///
/// It does not sign anyone in; the PIN is still needed. It contains the device's id, and a tag for each of the most
/// recent viewers, which does not reveal who they are.
package struct DeviceMark: Hashable, Sendable {
    let id: DeviceID
    /// The viewers' tags, 16 bytes each, latest first.
    private var tags: [[UInt8]]

    private static let prefix = "mvd_"
    private static let tagByteCount = 16
    /// The maximum number of viewers that a mark remembers.
    static let maxTags = 16

    /// Parses exactly the text form that ``text`` writes; nil for anything else.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), text.utf8.count <= Self.prefix.utf8.count + Self.maxTextBytes,
            let bytes = Base64.decodeFromURL(String(text.dropFirst(Self.prefix.count))),
            let id = DeviceID(bytes: Array(bytes.prefix(DeviceKind.byteCount)))
        else { return nil }
        let rest = Array(bytes.dropFirst(DeviceKind.byteCount))
        guard !rest.isEmpty, rest.count % Self.tagByteCount == 0 else { return nil }
        self.id = id
        tags = stride(from: 0, to: rest.count, by: Self.tagByteCount).map { Array(rest[$0..<($0 + Self.tagByteCount)]) }
    }

    private static let maxTextBytes = (DeviceKind.byteCount + maxTags * tagByteCount) * 4 / 3 + 4

    /// The text form of the mark, which is the cookie's value.
    package var text: String { Self.prefix + Base64.encodeForURL(id.bytes + tags.joined()) }

    /// - Parameter former: the browser's previous mark; nil if it had none.
    /// - Throws: ``VaultError`` with code `storage` if the system provides no random bytes.
    fileprivate init(adding tag: (DeviceID) -> [UInt8], to former: DeviceMark?) throws {
        id = try former?.id ?? SecureRandom.identifier("device id")
        let new = Array(tag(id).prefix(Self.tagByteCount))
        tags = [new] + (former?.tags ?? []).filter { $0 != new }.prefix(Self.maxTags - 1)
    }

    fileprivate func has(_ tag: [UInt8]) -> Bool {
        // Compare all tags, so that the time taken does not reveal which one matches.
        tags.reduce(false) { ConstantTime.areEqual($1, Array(tag.prefix(Self.tagByteCount))) || $0 }
    }
}

extension TokenIssuer {
    /// Returns the id of the device that a mark identifies; nil unless the viewer has signed in on it with their
    /// current PIN, and since all links were last revoked.
    ///
    /// The PIN must be the current one, because someone who knew a former PIN may have signed in on any number of
    /// devices, each with its own count of failed attempts.
    ///
    /// - Parameter marks: all marks that the browser sends; another service on the same host may have set more.
    package func device(_ marks: [DeviceMark], of viewer: Viewer) -> DeviceID? {
        marks.first { isProved($0, by: viewer) }?.id
    }

    private func isProved(_ mark: DeviceMark, by viewer: Viewer) -> Bool { mark.has(tag(mark.id, viewer)) }

    /// Returns the mark for a browser in which a viewer has just signed in.
    ///
    /// If one of the browser's former marks is proved to be a viewer's, preferably this viewer's, its id and tags are
    /// kept. An unproved mark is discarded, so an attacker cannot plant an id that they know in a browser.
    ///
    /// - Parameters:
    ///   - former: all marks that the browser sent.
    ///   - viewers: the viewers of the vault.
    /// - Throws: ``VaultError`` with code `storage` if the system provides no random bytes.
    package func mark(
        of viewer: Viewer, addedTo former: [DeviceMark], among viewers: [Viewer]
    ) throws -> DeviceMark {
        let proved =
            former.first { isProved($0, by: viewer) }
            ?? former.first { mark in viewers.contains { isProved(mark, by: $0) } }
        return try DeviceMark(adding: { tag($0, viewer) }, to: proved)
    }

    private func tag(_ device: DeviceID, _ viewer: Viewer) -> [UInt8] {
        let epoch = Array(String(keyring.tokenEpoch).utf8)
        return keyring.token(
            .device, MACMessage.bytes([epoch, device.bytes, viewer.id.bytes, viewer.pin?.salt ?? []]))
    }
}
