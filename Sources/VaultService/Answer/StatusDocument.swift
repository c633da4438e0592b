import Foundation
package import MediaVault

/// The state of a vault as `/api/v1/status` and `status --json` tell it.
package struct StatusDocument: Encodable, Sendable {
    package struct Unlock: Encodable, Sendable {
        let method: String
        let restsWithVault: Bool
    }

    let vault: String
    let resources: Int
    let segments: Int
    let bytes: Int64
    let bytesFetched: Int64
    let generation: Int
    let keysLocked: Bool
    let used: Int64
    let passedThrough: Int64
    let evicted: Int64
    let storeFailure: String?
    let unlock: Unlock

    package init(_ status: VaultStatus) {
        vault = status.vaultID
        resources = status.resources
        segments = status.segments
        bytes = status.bytes
        bytesFetched = status.bytesFetched
        generation = status.generation
        keysLocked = status.keysLocked
        used = status.used
        passedThrough = status.passedThrough
        evicted = status.evicted
        storeFailure = status.storeFailure
        unlock = Unlock(method: status.unlockMethod, restsWithVault: status.unlockRestsWithVault)
    }

    /// The document, in one line.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
    }
}
