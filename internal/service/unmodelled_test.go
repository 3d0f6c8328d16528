package service

import (
	"fmt"
	"testing"
)

func TestLinesAreListedWithTheirPlace(t *testing.T) {
	t.Parallel()
	got := ListLines("/etc/exports", []byte("# a comment\n\n/srv *(ro)\n  # another\n\t/home 10.0.0.0/8(rw) \n"), "#")
	if want := "[{/etc/exports:3 /srv *(ro)} {/etc/exports:5 /home 10.0.0.0/8(rw)}]"; fmt.Sprint(got) != want {
		t.Errorf("it lists %v", got)
	}
}

func TestSecretsAreTakenFromLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a b":                        "a b",
		"  user x password y z":      "  user x password (a secret)",
		"password":                   "password",
		"auth_pass p\nauth_pass  q":  "auth_pass (a secret)\nauth_pass (a secret)",
		"no_password p\npassword\tp": "no_password p\npassword (a secret)",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := WithoutSecrets(text, "password", "auth_pass"); got != want {
				t.Errorf("it is %q, not %q", got, want)
			}
		})
	}
}
