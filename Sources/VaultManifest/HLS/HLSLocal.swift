import VaultModel

// A playlist that names files beside it.
extension HLSPlaylist {
    /// Returns the bytes of the playlist with file names in place of all URIs; see `Manifest.local`.
    ///
    /// A tag for a resource that the title does not have is removed. The line of such a segment stays, because later
    /// segments are counted from it, and so does such a key, because its segments are encrypted: an empty file takes
    /// the place of either. The end is stated, because some players would wait for more without it.
    func local(_ names: inout LocalNames) -> [UInt8] {
        let gone = Set(edits.filter { !$0.isLed(to: names) }.compactMap(\.line))
        let text = keeping(entries, without: Array(gone)).written { $0.local(&names) }
        return isEnded ? text : text + "\n#EXT-X-ENDLIST\n".utf8
    }
}

extension HLSEdit {
    /// Returns whether the edit needs no file, or the title has the file.
    fileprivate func isLed(to names: LocalNames) -> Bool {
        switch change {
        case .link(let reference, _): names.has(reference.url)
        case .refusal: false
        case .text: true
        }
    }

    /// Returns the file name to write, or the edit's own text.
    fileprivate func local(_ names: inout LocalNames) -> String {
        let name: String
        switch change {
        case .link(let reference, _):
            name =
                names.name(of: reference.url, reference.role) ?? names.nameOfNothing(at: reference.url, reference.role)
        case .refusal(let role): name = names.nameOfNothing(at: nil, role ?? .data)
        case .text(let text): return text
        }
        return lacksQuotes ? "\"\(name)\"" : name
    }
}
