package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
)

// TestCurated holds that the list is as large as was promised, and that this side refuses the refused ones alone.
func TestCurated(t *testing.T) {
	now := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	w := newWalker(corpus(t), now)
	seen := map[string]bool{}
	for _, q := range questions(curated) {
		if q.family == "" {
			t.Errorf("%s: stands before the first family", q.text)
		}
		if seen[q.family+q.text] {
			t.Errorf("%s: %s stands there twice", q.family, q.text)
		}
		seen[q.family+q.text] = true
		parsed, err := query.Parse(q.text)
		if err == nil {
			_, err = w.plan(parsed.Root)
		}
		if refuses := err != nil; refuses != (q.family == refused) {
			t.Errorf("%s: %s: %v", q.family, q.text, err)
		}
	}
	if len(seen) < 300 {
		t.Errorf("%d curated queries, want 300 or more", len(seen))
	}
}

// TestOrders holds that every order can be asked for and that nothing private is among them.
func TestOrders(t *testing.T) {
	list := orders()
	for _, q := range list {
		order, err := query.ParseOrder(q.order)
		if err == nil {
			err = query.CheckOrder(order, query.Public)
		}
		if err != nil {
			t.Errorf("%s: %v", q.order, err)
		}
		if got := len(sorting(order)); got != 3 {
			t.Errorf("%s: OpenSearch is given %d keys, want the field and two for ties", q.order, got)
		}
	}
	if len(list) < 50 {
		t.Errorf("%d orders, want 50 or more", len(list))
	}
}

// TestExceptions holds that there are no more than promised, each with its row in the documentation.
func TestExceptions(t *testing.T) {
	list := exceptions()
	if len(list) > 5 {
		t.Errorf("%d exceptions, there may be 5", len(list))
	}
	page, err := os.ReadFile("../../docs/query-language.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !strings.Contains(string(page), "| "+e.name+" | ") {
			t.Errorf("docs/query-language.md has no row for the exception %q", e.name)
		}
	}
}

// TestEmptiesStayHome holds what the comparison rests on: OpenSearch gets no empty value, and every text without a word.
func TestEmptiesStayHome(t *testing.T) {
	empty := map[string]int{}
	for _, d := range corpus(t) {
		for name, values := range d.fields {
			for _, v := range values {
				if v == "" {
					t.Errorf("item %d: %s holds an empty value", d.id, name)
				}
			}
		}
		_, has := d.fields["content.text"]
		if has != (d.text != "") || has != d.doc.Has("content.text") {
			t.Errorf("item %d: the text %q is there: %t, here: %t", d.id, d.text, has, d.doc.Has("content.text"))
		}
		if has && len(d.words) == 0 {
			empty["texts without a word"]++
		}
	}
	if empty["texts without a word"] == 0 {
		t.Error("the corpus has no text without a word")
	}
}

func TestParseFlags(t *testing.T) {
	t.Setenv("OPENSEARCH_URL", "")
	tests := map[string]struct {
		args []string
		want string // part of the error
	}{
		"fine":         {args: []string{"-url", "http://127.0.0.1:9200/", "-seed", "1, 2,3", "-n", "0"}},
		"no node":      {want: "set OPENSEARCH_URL"},
		"bad seed":     {args: []string{"-seed", "x"}, want: "invalid value"},
		"bad count":    {args: []string{"-url", "x", "-n", "-1"}, want: "give 0 or more"},
		"bad now":      {args: []string{"-url", "x", "-now", "today"}, want: "read -now"},
		"stray values": {args: []string{"-url", "x", "love"}, want: "-query"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := parseFlags(tt.args, &strings.Builder{})
			switch {
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %q", err, tt.want)
			case tt.want == "" && err != nil:
				t.Errorf("error %v", err)
			case tt.want == "" && (s.url != "http://127.0.0.1:9200" || s.seeds.String() != "1,2,3"):
				t.Errorf("settings %+v", s)
			}
		})
	}
}
