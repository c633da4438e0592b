import Foundation
import Testing

/// A file of the corpus. Its name begins with `refused-` if it cannot be led through a vault.
struct CorpusFile: CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]

    var isRefused: Bool { name.hasPrefix("refused-") }
    var testDescription: String { name }

    /// The playlists beside which their references are written down, as the corpus of DASH does.
    static let expected: [(CorpusFile, [String])] = all(in: "HLS").compactMap { file in
        let list = folder("HLS").appending(path: file.name.replacing(".m3u8", with: ".references"))
        return (try? String(contentsOf: list, encoding: .utf8)).map { text in
            (file, text.split(separator: "\n").map(String.init))
        }
    }

    /// Returns the manifests in a folder of the corpus, sorted by name.
    static func all(in name: String) -> [CorpusFile] {
        let files =
            (try? FileManager.default.contentsOfDirectory(at: folder(name), includingPropertiesForKeys: nil)) ?? []
        return files.filter { $0.pathExtension != "references" }.compactMap { file in
            (try? Data(contentsOf: file)).map { CorpusFile(name: file.lastPathComponent, bytes: Array($0)) }
        }.sorted { $0.name < $1.name }
    }

    private static func folder(_ name: String) -> URL { Bundle.module.bundleURL.appending(path: "Corpus/\(name)") }
}
