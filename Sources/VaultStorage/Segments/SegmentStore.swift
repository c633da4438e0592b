package import VaultModel

/// Where sealed segments rest: a folder today, a shared object store perhaps later. Every call may block.
package protocol SegmentStore: Sendable {
    /// Makes the file of a new segment.
    func create(_ id: SegmentID) throws(FileFailure) -> any StoredFile
    func open(_ id: SegmentID, writable: Bool) throws(FileFailure) -> any StoredFile
    /// Makes the names of a new or removed segment durable.
    func synchronizeName(of id: SegmentID) throws(FileFailure)
    /// The size of a segment's file.
    func size(of id: SegmentID) throws(FileFailure) -> Int64
    /// Removes a segment's file; nothing happens where there is none.
    func remove(_ id: SegmentID) throws(FileFailure)
    /// Puts a file that is not what it should be aside.
    func quarantine(_ id: SegmentID) throws(FileFailure)
    /// The names where segments rest whose ids begin with a byte, strange ones included.
    func names(in byte: UInt8) throws(FileFailure) -> [String]
    /// Puts a file of any name aside that lies there.
    func quarantine(_ name: String, in byte: UInt8) throws(FileFailure)
}
