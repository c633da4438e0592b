import Foundation
import VaultModel

extension Identifier {
    /// The bytes as a column holds them.
    var data: Data { Data(bytes) }

    /// Reads a column; nil where it has the wrong length, which the schema forbids.
    init?(_ data: Data) { self.init(bytes: Array(data)) }
}

extension [UInt8] {
    /// The bytes as a column holds them.
    var data: Data { Data(self) }
}
