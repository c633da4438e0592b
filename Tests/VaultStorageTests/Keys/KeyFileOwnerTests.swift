import Foundation
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultStorage

@Suite("A key file must belong to the user that reads it or to root")
struct KeyFileOwnerTests {
    /// A file with its mode and owner, the user that reads it, the permission rule, and whether it is accepted.
    struct Case: CustomTestStringConvertible, Sendable {
        let (mode, owner, user): (UInt32, UInt32, UInt32)
        let keeping: PrivateFile.FilePermissions
        let isTaken: Bool

        var testDescription: String { "\(String(mode, radix: 8)) of \(owner), read by \(user), \(keeping)" }

        init(_ mode: UInt32, of owner: UInt32, by user: UInt32, _ keeping: PrivateFile.FilePermissions, _ isTaken: Bool)
        {
            (self.mode, self.owner, self.user) = (mode, owner, user)
            (self.keeping, self.isTaken) = (keeping, isTaken)
        }
    }

    @Test(
        "Another user's file is refused even if it is private, unless loose files are allowed",
        arguments: [
            Case(0o600, of: 1000, by: 1000, .byOwner, true), Case(0o400, of: 0, by: 1000, .byOwner, true),
            Case(0o600, of: 0, by: 0, .byOwner, true), Case(0o600, of: 1001, by: 1000, .byOwner, false),
            Case(0o400, of: 1000, by: 0, .byOwner, false), Case(0o640, of: 1000, by: 1000, .byOwner, false),
            Case(0o600, of: 1001, by: 1000, .loosely, true), Case(0o644, of: 1001, by: 1000, .loosely, true),
            Case(0o440, of: 0, by: 1000, .bySystem, true), Case(0o400, of: 1001, by: 1000, .bySystem, false),
        ])
    func owner(file: Case) {
        let error = PrivateFile.refusal(
            mode: mode_t(file.mode), owner: file.owner, user: file.user, kept: file.keeping, "key file", "/some/key")
        #expect((error == nil) == file.isTaken)
        #expect(error == nil || error?.code == .looseKeyFile && error?.message.contains("/some/key") == true)
    }

    @Test("A key file that now belongs to another user is refused")
    func givenAway() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/key"
        try KeyFile.make(path)
        _ = try KeyFile.readKey(path, allowLoose: false)
        // Only root can change the owner of a file; for other users only the table above applies.
        guard geteuid() == 0 else { return }
        try FileManager.default.setAttributes([.ownerAccountID: 12345], ofItemAtPath: path)
        let error = #expect(throws: VaultError.self) { _ = try KeyFile.readKey(path, allowLoose: false) }
        #expect(error?.code == .looseKeyFile && error?.message.contains("another user") == true)
        _ = try KeyFile.readKey(path, allowLoose: true)
    }
}
