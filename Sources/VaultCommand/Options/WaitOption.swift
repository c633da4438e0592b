import ArgumentParser

/// Whether a command waits for another that owns the vault.
struct WaitOption: ParsableArguments {
    @Flag(name: .customLong("wait"), help: "Wait until another command that owns the vault is done.")
    var isPatient = false
}
