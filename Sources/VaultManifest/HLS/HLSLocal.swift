import VaultModel

// Writes a playlist for a folder, naming the files next to it.
extension HLSPlaylist {
    /// Returns the playlist's bytes with all URIs replaced by file names; see `Manifest.local`.
    ///
    /// A tag for a resource that the title does not include is removed. The line of a segment that the title does not
    /// include is kept, because later segments are counted from it. So is the tag of a missing key, because its
    /// segments are encrypted. In both cases, an empty file takes the resource's place. The end is stated, because some
    /// players would otherwise wait for more.
    func local(_ names: inout LocalNames) -> [UInt8] {
        let gone = Set(edits.filter { !$0.isLed(to: names) }.compactMap(\.line))
        let text = keeping(entries, without: Array(gone)).written { $0.local(&names) }
        return isEnded ? text : text + "\n#EXT-X-ENDLIST\n".utf8
    }
}

extension HLSEdit {
    /// Returns whether the edit needs no file, or the title includes the file.
    fileprivate func isLed(to names: LocalNames) -> Bool {
        switch change {
        case .link(let reference, _): names.has(reference.url)
        case .refusal: false
        case .text: true
        }
    }

    /// Returns the file name to write, or the text that the edit already has.
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
