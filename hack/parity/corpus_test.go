package parity

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/querystring"
	"github.com/vitrine-dev/vitrine/internal/cli/textinput"
	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// messy is a corpus of texts that are hard to split into words.
//
//go:embed testdata/messy.ndjson
var messy []byte

// sampleItems is the number of items of the sample content that a run without the flag -corpus uses.
const sampleItems = 2000

// maxLine is the maximum length of an import line in bytes.
const maxLine = 16 << 20

// document is one item, in the form that each of the two sides uses.
type document struct {
	id int64
	// doc is the item as our side searches it. It is created from line.
	doc  *eval.Doc
	line item.Line
	// fields is the item as OpenSearch indexes it: the values by the name of the field in the index, without empty values.
	fields map[string][]any
	// text is the text of the item, and words contains the words of text in order. The generator uses both.
	text  string
	words []string
}

// loadCorpus reads the messy corpus and the files, or the sample content if there are no files.
func loadCorpus(paths []string) ([]document, error) {
	docs, err := readItems("testdata/messy.ndjson", bytes.NewReader(messy))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		var buffer bytes.Buffer
		if err := sample.Write(&buffer, sampleItems); err != nil {
			return nil, fmt.Errorf("create the sample content: %w", err)
		}
		more, err := readItems("the sample content", &buffer)
		if err != nil {
			return nil, err
		}
		docs = append(docs, more...)
	}
	for _, path := range paths {
		more, err := readFile(path)
		if err != nil {
			return nil, err
		}
		docs = append(docs, more...)
	}
	if len(docs) > window {
		return nil, fmt.Errorf("the corpus has %d items: OpenSearch returns at most %d hits", len(docs), window)
	}
	seen := map[int64]bool{}
	for _, d := range docs {
		if seen[d.id] {
			return nil, fmt.Errorf("the corpus has two items with the id %d", d.id)
		}
		seen[d.id] = true
	}
	return docs, nil
}

func readFile(path string) ([]document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the corpus: %w", err)
	}
	defer file.Close()
	content, _, err := textinput.Open(path, file)
	if err != nil {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	return readItems(path, content)
}

// readItems parses bulk import lines.
func readItems(name string, r io.Reader) ([]document, error) {
	var docs []document
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		line, err := item.ParseLine(lines.Bytes(), item.ParseOptions{Now: time.Unix(0, 0), AuthorKey: []byte("parity")})
		if err != nil {
			return nil, fmt.Errorf("read %s, line %d: %w", name, n, err)
		}
		if line.Item.ID == 0 {
			return nil, fmt.Errorf("read %s, line %d: the item has no id", name, n)
		}
		if line.Item.LastModified == "" {
			// Both sides index this time. An import would replace a time in the future, as some items have in created_on.
			line.Item.LastModified = time.Date(2026, 1, 1, 0, int(line.Item.ID%50_000), 0, 0, time.UTC).Format(time.RFC3339)
		}
		docs = append(docs, newDocument(line))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return docs, nil
}

// newDocument returns an item as a document for both sides.
func newDocument(line item.Line) document {
	it := line.Item
	created, _ := item.Millis(it.CreatedOn)
	values := it.Values(line.Units, nil, it.Tags)
	d := document{id: it.ID, text: it.Content.Text, line: line, doc: eval.NewDoc(it.ID, created, values), fields: map[string][]any{}}
	for f, v := range values {
		name := f.Name
		if name == query.AllField {
			name = querystring.DefaultAllField
		}
		d.fields[name] = append(d.fields[name], indexed(f, v))
	}
	for _, t := range analysis.Analyze(it.Content.Text) {
		d.words = append(d.words, t.Text)
	}
	return d
}

// dateLayout is the format in which dates are sent to OpenSearch. A number of milliseconds would be ambiguous, because OpenSearch could
// read it as a year.
const dateLayout = "2006-01-02T15:04:05.000Z"

// indexed returns a value in the form that encoding/json writes into a document for OpenSearch.
func indexed(f query.Field, v query.Value) any {
	switch f.Type {
	case query.Long:
		return v.Int
	case query.Double:
		return v.Float + 0 // + 0 turns negative zero, which Lucene sorts below zero, into zero
	case query.Boolean:
		return v.Int != 0
	case query.Date:
		return date{v.Int}
	case query.Keyword, query.Text:
	}
	return v.Str
}

// date is an instant in milliseconds since 1970.
type date struct{ ms int64 }

func (d date) String() string { return time.UnixMilli(d.ms).UTC().Format(dateLayout) }

// MarshalText returns the date in JSON; it never fails.
func (d date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// dynamicFields returns the dynamic fields of the documents in byte order.
func dynamicFields(docs []document) []string {
	static := map[string]bool{querystring.DefaultAllField: true}
	for _, f := range query.Fields() {
		static[f.Name] = true
	}
	var names []string
	seen := map[string]bool{}
	for _, d := range docs {
		for name := range d.fields {
			if !static[name] && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
