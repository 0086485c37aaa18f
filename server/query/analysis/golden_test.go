package analysis_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query/analysis"
)

// update makes TestGolden record the golden file. The file contains texts and their tokens from a real OpenSearch 3.8 (Lucene 10.5, JDK
// 25). To record the tokens of the existing texts again, run:
//
//	OPENSEARCH_URL=http://127.0.0.1:9200 go test ./server/query/analysis -run Golden -update
var update = flag.Bool("update", false, "record testdata/golden.json from the OpenSearch node at OPENSEARCH_URL")

const goldenFile = "testdata/golden.json"

// goldenText is one text with its tokens from the standard analyzer, each as "position text", and with the output of the lowercase
// normalizer.
type goldenText struct {
	About   string   `json:"about"`
	Text    string   `json:"text"`
	Tokens  []string `json:"tokens"`
	Keyword string   `json:"keyword"`
}

func TestGolden(t *testing.T) {
	b, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	var texts []goldenText
	if err := json.Unmarshal(b, &texts); err != nil {
		t.Fatal(err)
	}
	if *update {
		record(t, texts)
	}
	for _, g := range texts {
		t.Run(g.About, func(t *testing.T) {
			tokens := []string{}
			for _, tok := range analysis.Analyze(g.Text) {
				tokens = append(tokens, tokenLine(tok.Position, tok.Text))
			}
			if diff := cmp.Diff(g.Tokens, tokens); diff != "" {
				t.Errorf("%q (-OpenSearch, +ours):\n%s", g.Text, diff)
			}
			if diff := cmp.Diff(g.Keyword, analysis.Keyword(g.Text)); diff != "" {
				t.Errorf("keyword (-OpenSearch, +ours):\n%s", diff)
			}
			if got, want := analysis.HasWord(g.Text), len(g.Tokens) > 0; got != want {
				t.Errorf("HasWord is %v, want %v", got, want)
			}
		})
	}
}

func record(t *testing.T, texts []goldenText) {
	t.Helper()
	url := strings.TrimSuffix(os.Getenv("OPENSEARCH_URL"), "/")
	if url == "" {
		t.Fatal("-update needs OPENSEARCH_URL")
	}
	for i := range texts {
		g := &texts[i]
		g.Tokens = []string{}
		for _, tok := range analyze(t, url, map[string]any{"analyzer": "standard", "text": g.Text}) {
			g.Tokens = append(g.Tokens, tokenLine(tok.Position, tok.Token))
		}
		normal := map[string]any{"tokenizer": "keyword", "filter": []string{"lowercase"}, "text": g.Text}
		g.Keyword = ""
		for _, tok := range analyze(t, url, normal) {
			g.Keyword = tok.Token
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteString("[\n")
	for i, g := range texts {
		if i > 0 {
			b.WriteString(",\n")
		}
		if err := e.Encode(g); err != nil {
			t.Fatal(err)
		}
		b.Truncate(b.Len() - 1) // the newline of Encode
	}
	b.WriteString("\n]\n")
	if err := os.WriteFile(goldenFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

type nodeToken struct {
	Token    string `json:"token"`
	Position int    `json:"position"`
}

func analyze(t *testing.T, url string, request map[string]any) []nodeToken {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+"/_analyze", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("_analyze: %s: %s", resp.Status, answer)
	}
	var tokens struct{ Tokens []nodeToken }
	if err := json.Unmarshal(answer, &tokens); err != nil {
		t.Fatal(err)
	}
	return tokens.Tokens
}
