package host

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strconv"
)

// receive begins every script that reads its standard input.
//
//go:embed receive.sh
var receive string

// ScriptWithInput is Script with an input, and the only way to give a command one: the script begins when all of the input has come, by
// length and sum, as command and input go their ways apart and a connection may break in between.
func ScriptWithInput(name, script string, input []byte, args ...string) Cmd {
	cmd := Script(name, receive+script, append([]string{strconv.Itoa(len(input)), sumOf(input)}, args...)...)
	cmd.Stdin = input
	return cmd
}

// sumOf returns the SHA-256 of a text as sha256sum(1) prints it.
func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
