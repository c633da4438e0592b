/// How a slot of the keyring is opened.
package enum UnlockMethod: String, Sendable {
    case keyFile = "key-file"
    case command
    case credential
    case passphrase
}
