package import VaultModel

extension KeyringEdit {
    /// Adds a generation with a fresh key, and makes it the one that new resources use.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - taken: numbers that were given before, though a restored keyring may not know them. They come from outside, and
    ///     nothing is counted on from them: each is passed over.
    /// - Returns: its number: the next that is free above the highest that ever was.
    /// - Throws: ``VaultError`` with code `inUse` where there are as many generations as a keyring may hold.
    package mutating func addGeneration(now: Int64, avoiding taken: Set<Int> = []) throws -> Int {
        guard document.generations.count(where: { $0.key != nil }) < KeyringDocument.mostActive else {
            throw VaultError(
                .inUse,
                "the keyring holds \(KeyringDocument.mostActive) generations, the most there can be; run keys rewrap, then "
                    + "keys retire for the older ones")
        }
        var number = document.highestGeneration + 1
        while taken.contains(Int(number)) { number += 1 }
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
        guard !document.retired.contains(where: { $0.numbers.contains(number) }) else { return }
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
