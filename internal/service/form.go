package service

import (
	"fmt"
	"regexp"
)

// NewForm returns what refuses a text that an expression does not match; instead says what to write.
func NewForm(expression, instead string) func(text string) error {
	form := regexp.MustCompile(expression)
	return func(text string) error {
		if form.MatchString(text) {
			return nil
		}
		return fmt.Errorf("%s, not %q", instead, text)
	}
}
