package import VaultModel

extension KeyringEdit {
    /// Adds a generation with a fresh key, and makes it the one that new resources use.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - floor: a number that was given before, though a restored keyring may not know it.
    /// - Returns: its number: one more than the highest that ever was.
    package mutating func addGeneration(now: Int64, above floor: Int = 0) throws -> Int {
        let number = max(document.generations.map(\.number).max() ?? 0, Int64(floor)) + 1
        let key = try seal(Fresh.key("generation key"), .generation, number)
        document.generations.append(.init(number: number, created: max(0, now), key: key, backups: 0))
        document.current = number
        return Int(number)
    }

    /// Takes the key of a generation out of the document. One that is retired already stays so.
    ///
    /// - Throws: ``VaultError`` with code `inUse` for the current generation, `invalidArgument` where there is none of
    ///   this number.
    package mutating func retireGeneration(_ number: Int) throws {
        guard number != document.current else { throw Self.currentGeneration(number) }
        guard let index = document.generations.firstIndex(where: { $0.number == number }) else {
            throw Self.unknownGeneration(number)
        }
        document.generations[index].key = nil
    }

    /// The generation that new resources use cannot go.
    package static func currentGeneration(_ number: Int) -> VaultError {
        VaultError(
            .inUse, "generation \(number) is the one that new resources use; run keys rotate, then keys rewrap, first")
    }

    /// No generation has this number.
    package static func unknownGeneration(_ number: Int) -> VaultError {
        VaultError(.invalidArgument, "the keyring has no generation \(number); keys list names those that it has")
    }
}
