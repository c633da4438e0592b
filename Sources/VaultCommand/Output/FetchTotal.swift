/// What came of several titles in all.
struct FetchTotal: Hashable, Sendable {
    private let titles: Int
    private let complete: Int
    private let bytes: Int64

    init(_ records: [FetchedRecord]) {
        titles = records.count
        complete = records.count { $0.complete }
        bytes = records.reduce(0) { $0 + $1.bytes }
    }

    var sentence: String { "\(complete) of \(titles) titles are held whole, \(ByteCount.text(bytes)) in all" }
}
