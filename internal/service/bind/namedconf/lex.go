package namedconf

import (
	"fmt"
	"strings"
)

// kind of a token.
type kind int

const (
	word kind = iota
	quoted
	open
	shut
	semicolon
	end
)

// token is one lexical element with the white space and the comments before it, so that all tokens together
// are the text.
type token struct {
	kind kind
	lead string
	raw  string
	line int
}

// unquotedValue of a word or of a quoted string, without its quotes.
func (t token) unquotedValue() string {
	if t.kind != quoted {
		return t.raw
	}
	text := t.raw[1 : len(t.raw)-1]
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// SyntaxError is a place where the text is no configuration.
type SyntaxError struct {
	Line    int
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

type lexer struct {
	text string
	pos  int
	line int
}

// readToken reads one token; at the end of the text, an end token that carries what was left.
func (l *lexer) readToken() (token, error) {
	start := l.pos
	if err := l.skipBlanks(); err != nil {
		return token{}, err
	}
	t := token{lead: l.text[start:l.pos], line: l.line}
	if l.pos == len(l.text) {
		t.kind = end
		return t, nil
	}
	from := l.pos
	switch l.text[l.pos] {
	case '{':
		t.kind, l.pos = open, l.pos+1
	case '}':
		t.kind, l.pos = shut, l.pos+1
	case ';':
		t.kind, l.pos = semicolon, l.pos+1
	case '"':
		t.kind = quoted
		if err := l.quotedString(); err != nil {
			return t, err
		}
	default:
		t.kind = word
		l.readWord()
	}
	t.raw = l.text[from:l.pos]
	return t, nil
}

// skipBlanks passes white space and the three kinds of comments.
func (l *lexer) skipBlanks() error {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case rest[0] == '\n':
			l.line++
			l.pos++
		case isSpace(rest[0]):
			l.pos++
		case rest[0] == '#' || strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.pos += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return &SyntaxError{l.line, "a comment that begins with /* has no end"}
			}
			l.line += strings.Count(rest[:n+4], "\n")
			l.pos += n + 4
		default:
			return nil
		}
	}
	return nil
}

// quotedString runs to the quote that ends a string, which may have several lines, as the keys of trust anchors do.
func (l *lexer) quotedString() error {
	for i := l.pos + 1; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case '"':
			l.line += strings.Count(l.text[l.pos:i], "\n")
			l.pos = i + 1
			return nil
		}
	}
	return &SyntaxError{l.line, "a quoted string has no end"}
}

// readWord runs to white space, a special character or a comment; '#' begins a comment only before a word, as
// in BIND's own lexer.
func (l *lexer) readWord() {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		if isSpace(rest[0]) || strings.IndexByte(`{};"`, rest[0]) >= 0 || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") {
			return
		}
		l.pos++
	}
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}
