import GRDB

extension Row {
    /// The value of a column. GRDB's own subscript ends the process where the value has another type, and SQLite lets a
    /// damaged row hold any.
    ///
    /// - Throws: `RowDecodingError`.
    func column<Value: DatabaseValueConvertible>(_ name: String) throws -> Value { try decode(forColumn: name) }
}
