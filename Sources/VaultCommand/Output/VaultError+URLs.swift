import MediaVault

extension VaultError {
    /// The message; where one of several URLs cannot be used, with which it is. What is malformed may hold anything, and
    /// is not repeated.
    func message(ofURL number: Int, of count: Int) -> String {
        code == .invalidURL && count > 1 ? "URL \(number) of \(count): \(message)" : message
    }
}
