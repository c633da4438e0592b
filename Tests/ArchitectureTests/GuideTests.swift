import Foundation
import Testing

/// Checks what the guides say about the sources.
@Suite("Guides")
struct GuideTests {
    @Test("Every file that a guide names exists, and the tour names twenty")
    func files() throws {
        let root = Sources.folder.deletingLastPathComponent()
        let catalog = Sources.folder.appending(path: "MediaVault/MediaVault.docc")
        let guides = try FileManager.default.contentsOfDirectory(at: catalog, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
        #expect(guides.count > 10, "a folder without guides proves nothing")
        for guide in guides {
            let text = try String(contentsOf: guide, encoding: .utf8)
            let paths = Set(text.matches(of: /`((?:Sources|Tests|Scripts)\/[\w.+\/-]+)`/).map { String($0.1) })
            for path in paths {
                let exists = FileManager.default.fileExists(atPath: root.appending(path: path).path)
                #expect(exists, "\(guide.lastPathComponent) names \(path)")
            }
            if guide.lastPathComponent == "Tour.md" { #expect(paths.count >= 20) }
        }
    }
}
