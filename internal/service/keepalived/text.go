package keepalived

import (
	"fmt"
	"strings"
)

// node is a statement of keepalived.conf: words, and for a block what is between its braces.
type node struct {
	words    []string
	block    bool
	children []node
	// line is how many lines of its chunk are before it.
	line int
}

func (n node) firstWord() string { return n.wordAt(0) }

func (n node) wordAt(i int) string {
	if i < len(n.words) {
		return n.words[i]
	}
	return ""
}

// chunk is a piece of the file at the top level, with the blank lines and comments before it. A chunk that
// nobody touches is written as it was read, byte by byte.
type chunk struct {
	lead, text string
	node       node
}

// token is a word, a brace or the end of a line; word tells a quoted brace from a bare one.
type token struct {
	text string
	word bool
}

const blanks = " \t\r\n\v\f"

// scanLine splits one line. Comments begin with # or ! outside quotes.
func scanLine(line string) []token {
	var tokens []token
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case strings.IndexByte(blanks, c) >= 0:
			i++
		case c == '#' || c == '!':
			return tokens
		case c == '{' || c == '}':
			tokens = append(tokens, token{text: string(c)})
			i++
		case c == '"':
			end := strings.IndexByte(line[i+1:], '"')
			if end < 0 {
				end = len(line) - i - 1
			}
			tokens = append(tokens, token{text: line[i+1 : i+1+end], word: true})
			i += end + 2
		default:
			end := strings.IndexAny(line[i:], blanks+"\"{}#!")
			if end < 0 {
				end = len(line) - i
			}
			tokens = append(tokens, token{text: line[i : i+end], word: true})
			i += end
		}
	}
	return tokens
}

// splitChunks cuts a file into chunks; tail is what comes after the last one.
func splitChunks(content string) (chunks []chunk, tail string, err error) {
	lines := strings.SplitAfter(content, "\n")
	var lead strings.Builder
	for i := 0; i < len(lines); {
		if len(scanLine(lines[i])) == 0 {
			lead.WriteString(lines[i])
			i++
			continue
		}
		end, err := chunkEnd(lines, i)
		if err != nil {
			return nil, "", err
		}
		text := strings.Join(lines[i:end], "")
		nodes, err := parseNodes(text)
		if err != nil {
			return nil, "", fmt.Errorf("line %d: %w", i+1, err)
		}
		chunks = append(chunks, chunk{lead: lead.String(), text: text, node: nodes[0]})
		lead.Reset()
		i = end
	}
	return chunks, lead.String(), nil
}

// chunkEnd finds the line after the statement that begins at start. An opening brace may stand on a line
// of its own.
func chunkEnd(lines []string, start int) (int, error) {
	depth := 0
	for i := start; i < len(lines); i++ {
		for _, t := range scanLine(lines[i]) {
			switch {
			case t.word:
			case t.text == "{":
				depth++
			case depth == 0:
				return 0, fmt.Errorf("line %d: a closing brace without an opening one", i+1)
			default:
				depth--
			}
		}
		if depth == 0 && !opensNext(lines, i+1) {
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("line %d: a block that is not closed", start+1)
}

// opensNext says whether the next line that says something begins with an opening brace.
func opensNext(lines []string, from int) bool {
	for _, line := range lines[from:] {
		if tokens := scanLine(line); len(tokens) > 0 {
			return tokens[0] == token{text: "{"}
		}
	}
	return false
}

// parseNodes reads statements.
func parseNodes(text string) ([]node, error) {
	var root node
	stack := []*node{&root}
	var words []string
	at, began := -1, 0
	flush := func() {
		if len(words) > 0 {
			top := stack[len(stack)-1]
			top.children = append(top.children, node{words: words, line: began})
			words = nil
		}
	}
	for line := range strings.Lines(text) {
		at++
		tokens := scanLine(line)
		if len(tokens) > 0 && tokens[0] != (token{text: "{"}) {
			flush()
		}
		for _, t := range tokens {
			switch {
			case t.word:
				if len(words) == 0 {
					began = at
				}
				words = append(words, t.text)
			case t.text == "{":
				top := stack[len(stack)-1]
				top.children = append(top.children, node{words: words, block: true, line: began})
				words = nil
				stack = append(stack, &top.children[len(top.children)-1])
			case len(stack) == 1:
				return nil, fmt.Errorf("a closing brace without an opening one")
			default:
				flush()
				stack = stack[:len(stack)-1]
			}
		}
	}
	flush()
	if len(stack) > 1 {
		return nil, fmt.Errorf("a block that is not closed")
	}
	return root.children, nil
}
