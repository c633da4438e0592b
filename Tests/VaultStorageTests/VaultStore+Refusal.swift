import Testing
import VaultModel
import VaultStorage

extension VaultStore {
    /// Expects that closing a segment throws. (A writer cannot be given away within the closure of `#expect`.)
    func expectRefusal(
        toClose writer: consuming SegmentWriter, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        do {
            let segment = try close(writer)
            Issue.record("closed as \(String(describing: segment))", sourceLocation: sourceLocation)
        } catch is VaultError {
        }
    }
}
