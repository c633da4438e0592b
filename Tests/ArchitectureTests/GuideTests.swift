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

    @Test("The README has at most 120 lines, and every file, place and picture that it leads to exists")
    func readme() throws {
        let root = Sources.folder.deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 121)
        let inline = text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
        let listed = text.matches(of: /(?m)^\[[^\]]+\]: (\S+)$/).map { String($0.1) }
        let links = (inline + listed).filter { !$0.hasPrefix("https://") }
        #expect(links.count > 15, "a README without links proves nothing")
        for link in links {
            let parts = link.split(separator: "#").map(String.init)
            let file = root.appending(path: parts[0])
            #expect(FileManager.default.fileExists(atPath: file.path), "README.md leads to \(link)")
            guard parts.count == 2 else { continue }
            let headings = try String(contentsOf: file, encoding: .utf8).matches(of: /(?m)^#+ (.+)$/)
            let places = headings.map { $0.1.lowercased().replacing(" ", with: "-") }
            #expect(places.contains(parts[1]), "README.md leads to \(link)")
        }
    }
}
