import Foundation
import VaultTestSupport

extension TemporaryFolder {
    func write(_ text: String, to name: String, mode: Int = 0o600) throws {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    func write(_ bytes: [UInt8], to name: String, mode: Int = 0o600) throws {
        try Data(bytes).write(to: URL(filePath: path + "/" + name))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + "/" + name)
    }

    func mode(of name: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path + "/" + name)[.posixPermissions] as? Int ?? -1
    }

    /// The files below the folder, by their relative paths.
    func files() -> [String] {
        (FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []).filter { name in
            var isFolder: ObjCBool = false
            return unsafe FileManager.default.fileExists(atPath: path + "/" + name, isDirectory: &isFolder)
                && !isFolder.boolValue
        }
    }
}
