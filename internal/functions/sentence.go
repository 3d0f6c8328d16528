package functions

import "strings"

// errorText makes an error the text of a function's error; the CLI ends it with a full stop.
func errorText(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}
