package alloc

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// passwordCharacters are those that every daemon's configuration takes as they are.
const passwordCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Password derives a password of letters and digits from a secret and what it is for: each character is worth 5.9 bits. Who knows one
// password learns neither the secret nor any other.
func Password(secret, purpose string, length int) string {
	// A byte at or above the limit would make the first characters likelier than the others.
	const limit = 256 / len(passwordCharacters) * len(passwordCharacters)
	password := make([]byte, 0, length)
	for block := uint64(0); len(password) < length; block++ {
		sum := hmac.New(sha256.New, []byte(secret))
		sum.Write(binary.BigEndian.AppendUint64(nil, block))
		sum.Write([]byte(purpose))
		for _, b := range sum.Sum(nil) {
			if int(b) < limit && len(password) < length {
				password = append(password, passwordCharacters[int(b)%len(passwordCharacters)])
			}
		}
	}
	return string(password)
}
