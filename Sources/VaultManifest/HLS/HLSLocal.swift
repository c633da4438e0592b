import VaultModel

// A playlist that names files beside it.
extension HLSPlaylist {
    /// Returns the playlist with names of files in place of all URIs; see `Manifest.local`.
    ///
    /// A tag goes with what the title does not have. The line of a segment stays, because those that follow are counted from
    /// it, and so does a key, because its segments are not in the clear: in their place is a file without content. The end is
    /// stated, because some players wait for more without it.
    func local(_ names: inout LocalNames) -> [UInt8] {
        let gone = Set(edits.filter { !$0.isLed(to: names) }.compactMap(\.line))
        let text = keeping(entries, without: Array(gone)).written { $0.local(&names) }
        return isEnded ? text : text + "\n#EXT-X-ENDLIST\n".utf8
    }
}

extension HLSEdit {
    /// Whether what stands there needs no file, or the title has it.
    fileprivate func isLed(to names: LocalNames) -> Bool {
        switch change {
        case .link(let reference, _): names.has(reference.url)
        case .refusal: false
        case .text: true
        }
    }

    /// Returns the name of a file, or the text that is written in any case.
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
