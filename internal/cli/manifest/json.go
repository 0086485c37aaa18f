package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// json reads one or several objects from a JSON document. It does not use the YAML parser, because that parser rejects some valid JSON,
// such as an escaped character beyond U+FFFF. ok is false for a document that is not JSON.
func (f *file) json(d document) (objects []Object, problems []Problem, ok bool) {
	if !bytes.HasPrefix(bytes.TrimLeft(d.text, " \t\r\n"), []byte("{")) {
		return nil, nil, false
	}
	var values []any
	for dec := json.NewDecoder(bytes.NewReader(d.text)); ; {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		var value any
		if err != nil || utiljson.Unmarshal(raw, &value) != nil {
			return nil, nil, false
		}
		values = append(values, value)
	}
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(d.text)), text: d.text, line: d.first + 1, column: 1}
	for _, value := range values {
		node := r.node()
		members, isObject := value.(map[string]any)
		if !isObject {
			problems = append(problems, Problem{Place: f.place(node.Line, node.Column), Message: noObject})
			continue
		}
		found, wrong := f.objects(members, node)
		objects, problems = append(objects, found...), append(problems, wrong...)
	}
	for _, key := range r.twice {
		problems = append(problems, Problem{
			Place: f.place(key.Line, key.Column), Message: fmt.Sprintf("key %q already set in map", key.Value),
		})
	}
	if len(r.twice) > 0 {
		objects = nil
	}
	return objects, problems, true
}

// jsonReader builds the nodes of valid JSON, with their positions.
type jsonReader struct {
	dec  *json.Decoder
	text []byte
	// offset is the number of bytes that have been read from text. line and column are the position after these bytes.
	offset       int
	line, column int
	twice        []*yaml.Node // duplicate keys
}

// node reads one value.
func (r *jsonReader) node() *yaml.Node {
	for bytes.IndexByte([]byte(" \t\r\n,:"), r.text[r.offset]) >= 0 {
		r.pass(r.offset + 1)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.column}
	token := r.token()
	switch v := token.(type) {
	case string:
		n.Style, n.Value = yaml.DoubleQuotedStyle, v
		return n
	case json.Delim:
		n.Kind = yaml.MappingNode
		if v == '[' {
			n.Kind = yaml.SequenceNode
		}
	default:
		n.Value = fmt.Sprint(v)
		return n
	}
	keys := map[string]bool{}
	for r.dec.More() {
		child := r.node()
		n.Content = append(n.Content, child)
		if n.Kind == yaml.MappingNode {
			if keys[child.Value] {
				r.twice = append(r.twice, child)
			}
			keys[child.Value] = true
			n.Content = append(n.Content, r.node())
		}
	}
	r.token()
	return n
}

// token reads the next token.
func (r *jsonReader) token() json.Token {
	token, err := r.dec.Token()
	if err != nil {
		panic(fmt.Sprintf("manifest: valid JSON does not parse: %v", err))
	}
	r.pass(int(r.dec.InputOffset()))
	return token
}

// pass advances to an offset.
func (r *jsonReader) pass(to int) {
	for r.offset < to {
		char, size := utf8.DecodeRune(r.text[r.offset:])
		r.offset += size
		r.column++
		if char == '\n' {
			r.line, r.column = r.line+1, 1
		}
	}
}
