import Foundation
import Testing

/// A file of the corpus. Its name begins with `refused-` if it cannot be led through a vault.
struct CorpusFile: CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]

    var isRefused: Bool { name.hasPrefix("refused-") }
    var testDescription: String { name }

    /// Returns the files in a folder of the corpus, sorted by name.
    static func all(in folder: String) -> [CorpusFile] {
        let folder = Bundle.module.bundleURL.appending(path: "Corpus/\(folder)")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.compactMap { file in
            (try? Data(contentsOf: file)).map { CorpusFile(name: file.lastPathComponent, bytes: Array($0)) }
        }.sorted { $0.name < $1.name }
    }
}
