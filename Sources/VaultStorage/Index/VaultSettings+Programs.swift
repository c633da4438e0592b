package import VaultModel

// The programs that the operator chose. Their arguments may be secrets, so only the sealed settings contain them.
extension VaultSettings {
    /// The programs. An invalid member counts as absent, so that nothing is run.
    package var programs: ProgramSettings {
        ProgramSettings(notify: program("notifyCommand"), refresh: program("refreshCommand"))
    }

    /// Replaces the programs.
    package mutating func setPrograms(_ programs: ProgramSettings) {
        for (name, program) in [("notifyCommand", programs.notify), ("refreshCommand", programs.refresh)] {
            members[name] = program.map { .array($0.words.map { .string($0) }) }
        }
    }

    private func program(_ name: String) -> ProgramInvocation? {
        (try? members.strings(name)).flatMap { try? ProgramInvocation($0) }
    }
}
