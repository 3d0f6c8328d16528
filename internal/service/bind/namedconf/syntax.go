// Package namedconf reads and writes the syntax of named.conf without knowing what its statements mean, and
// without losing a byte of what it does not change: String undoes Parse.
package namedconf

import (
	"strings"
)

// File is a sequence of statements: a whole file, or what is between two braces.
type File struct {
	Statements []*Statement
	// Tail is the white space and the comments after the last statement.
	Tail string
}

// Statement is everything up to a semicolon: words and blocks in any order.
type Statement struct {
	Parts []Part
	// Tail is what stands between the last part and the semicolon.
	Tail string
	// Line where the statement begins, from 1.
	Line int
}

// Part is a word, a quoted string or a block.
type Part struct {
	// Lead is the white space and the comments before the part.
	Lead string
	// Raw is the word as written, with its quotes; "" for a block.
	Raw string
	// Value is the word without its quotes.
	Value string
	Block *File
}

// Parse reads a text. The error is a *SyntaxError.
func Parse(text string) (*File, error) {
	l := &lexer{text: text, line: 1}
	f, last, err := parseFile(l)
	if err != nil {
		return nil, err
	}
	if last.kind != end {
		return nil, &SyntaxError{last.line, "a closing brace that nothing opened"}
	}
	return f, nil
}

// parseFile reads statements up to a closing brace or the end, which it returns.
func parseFile(l *lexer) (*File, token, error) {
	f := &File{}
	for {
		t, err := l.readToken()
		if err != nil {
			return nil, t, err
		}
		switch t.kind {
		case end, shut:
			f.Tail = t.lead
			return f, t, nil
		case semicolon:
			return nil, t, &SyntaxError{t.line, "a semicolon that ends nothing"}
		}
		s, err := parseStatement(l, t)
		if err != nil {
			return nil, t, err
		}
		f.Statements = append(f.Statements, s)
	}
}

func parseStatement(l *lexer, t token) (*Statement, error) {
	s := &Statement{Line: t.line}
	for {
		switch t.kind {
		case word, quoted:
			s.Parts = append(s.Parts, Part{Lead: t.lead, Raw: t.raw, Value: t.unquotedValue()})
		case open:
			block, last, err := parseFile(l)
			if err != nil {
				return nil, err
			}
			if last.kind != shut {
				return nil, &SyntaxError{t.line, "a brace that nothing closes"}
			}
			s.Parts = append(s.Parts, Part{Lead: t.lead, Block: block})
		case semicolon:
			s.Tail = t.lead
			return s, nil
		default:
			return nil, &SyntaxError{s.Line, "a statement without its semicolon"}
		}
		var err error
		if t, err = l.readToken(); err != nil {
			return nil, err
		}
	}
}

// String writes the text.
func (f *File) String() string {
	var b strings.Builder
	f.writeTo(&b)
	return b.String()
}

func (f *File) writeTo(b *strings.Builder) {
	for _, s := range f.Statements {
		s.writeTo(b)
	}
	b.WriteString(f.Tail)
}

// String writes the statement with the comments before it.
func (s *Statement) String() string {
	var b strings.Builder
	s.writeTo(&b)
	return b.String()
}

func (s *Statement) writeTo(b *strings.Builder) {
	for _, p := range s.Parts {
		b.WriteString(p.Lead)
		if p.Block == nil {
			b.WriteString(p.Raw)
			continue
		}
		b.WriteByte('{')
		p.Block.writeTo(b)
		b.WriteByte('}')
	}
	b.WriteString(s.Tail)
	b.WriteByte(';')
}

// Name is the statement's first word in lower case, "" where it begins with a block.
func (s *Statement) Name() string { return strings.ToLower(s.Parts[0].Value) }

// Arg is the n-th word after the name, unquoted; "" where there is none.
func (s *Statement) Arg(n int) string {
	if words := s.Words(); n < len(words) {
		return words[n]
	}
	return ""
}

// Words are the words after the name, unquoted.
func (s *Statement) Words() []string {
	var words []string
	for _, p := range s.Parts[1:] {
		if p.Block == nil {
			words = append(words, p.Value)
		}
	}
	return words
}

// Block is the statement's first block, nil where it has none.
func (s *Statement) Block() *File {
	for _, p := range s.Parts {
		if p.Block != nil {
			return p.Block
		}
	}
	return nil
}

// Lead is the white space and the comments before the statement.
func (s *Statement) Lead() string { return s.Parts[0].Lead }

// SetLead replaces them.
func (s *Statement) SetLead(lead string) { s.Parts[0].Lead = lead }

// Text is the statement without its lead.
func (s *Statement) Text() string { return strings.TrimPrefix(s.String(), s.Lead()) }

// Find returns the first statement of a name, nil where there is none.
func (f *File) Find(name string) *Statement {
	for _, s := range f.Statements {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// Elements are the statements of a block as single strings: the elements of an address match list. Nested
// blocks keep their text.
func (f *File) Elements() []string {
	all := make([]string, 0, len(f.Statements))
	for _, s := range f.Statements {
		var words []string
		for _, p := range s.Parts {
			if p.Block != nil {
				words = append(words, "{"+p.Block.String()+"}")
				continue
			}
			words = append(words, p.Value)
		}
		text := strings.Join(words, " ")
		if rest, not := strings.CutPrefix(text, "! "); not {
			text = "!" + rest
		}
		all = append(all, text)
	}
	return all
}

// Quote writes a quoted string.
func Quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
