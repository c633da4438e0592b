extension KeyringEdit {
    /// Adds a fresh key that names resources.
    ///
    /// - Returns: its number: one more than the highest that there is.
    package mutating func addLocator() throws -> Int {
        let number = (document.locators.map(\.number).max() ?? 0) + 1
        let key = try seal(Fresh.key("locator key"), .locator, number)
        document.locators.append(.init(number: number, key: key))
        return Int(number)
    }

    /// Takes every key that names resources out of the document, but this one.
    package mutating func dropLocators(except number: Int) { document.locators.removeAll { $0.number != number } }
}
