import GRDB
import VaultModel

/// What the plain columns of the index may hold. No tag is on them: a number is bounded where it is read, and a row that
/// says what cannot be is a damaged one.
enum PlainColumn {
    /// Numbers of keys and generations: from 1, and within the u32 that associated data have for them.
    static let numbers = 1...Int(UInt32.max)
    /// Revisions of a keyring: what its own file can hold.
    static let revisions = 0...ContentInformation.mostBytes
    /// Hours in seconds since 1970, to the end of the year 9999.
    static let hours: ClosedRange<Int64> = 0...253_402_297_200

    /// The hour of a moment, as a column has it: a clock that is far off makes no impossible row.
    static func hour(of moment: Int64) -> Int64 {
        let seconds = min(max(moment, hours.lowerBound), hours.upperBound)
        return seconds - seconds % 3600
    }

    // The same in SQL, for what is summed up and picked there.

    /// Whether a column holds an integer within a range.
    static func isWithin<Bound>(_ range: ClosedRange<Bound>, _ column: String) -> String {
        "(typeof(\(column)) = 'integer' AND \(column) BETWEEN \(range.lowerBound) AND \(range.upperBound))"
    }

    /// Whether a row of `segment` can be that of a segment.
    static let isSegment = """
        (\(isWithin(0...ContentInformation.mostBytes, "segment.start"))
            AND \(isWithin(0...SegmentDescription.mostBytes, "segment.length"))
            AND segment.start + segment.length <= \(ContentInformation.mostBytes)
            AND segment.blockSize IN (\(SegmentDescription.blockSizes.map { "\($0)" }.joined(separator: ", ")))
            AND \(isWithin(numbers, "segment.key")) AND segment.state IN ('open', 'closed'))
        """

    /// Whether a row of `resourceKey` can be that of a key.
    static let isResourceKey = """
        (typeof(resourceKey.resource) = 'blob' AND length(resourceKey.resource) = 32
            AND typeof(resourceKey.wrapped) = 'blob' AND \(isWithin(numbers, "resourceKey.number"))
            AND \(isWithin(numbers, "resourceKey.generation")))
        """

    /// Whether a row of `resource` can be evicted by the time that it was read last.
    static let hasHour = isWithin(hours, "resource.accessed")
}

extension Row {
    /// The value of a column. GRDB's own subscript ends the process where the value has another type, and SQLite lets a
    /// damaged row hold any.
    ///
    /// - Throws: `RowDecodingError`.
    func column<Value: DatabaseValueConvertible>(_ name: String) throws -> Value { try decode(forColumn: name) }

    /// The value of a column that holds a number within a range.
    ///
    /// - Throws: `RowDecodingError`; ``VaultError`` with code `integrity` where the number lies outside.
    func column<Value: DatabaseValueConvertible>(_ name: String, in range: ClosedRange<Value>) throws -> Value {
        let value: Value = try column(name)
        guard range.contains(value) else { throw IndexError.damaged }
        return value
    }
}
