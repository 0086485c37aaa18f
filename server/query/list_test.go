package query_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestLists(t *testing.T) {
	testParse(t, map[string]parseCase{
		"without brackets":   {query: "campaign:1,2 x", want: "campaign:(1,2) x"},
		"in brackets":        {query: "campaign:(1,2)", want: "campaign:(1,2)"},
		"spaces":             {query: "campaign:(1 , 2,3)", want: "campaign:(1,2,3)"},
		"one value":          {query: "campaign:(1)", want: "campaign:1"},
		"with operators":     {query: "campaign:(1,2 OR 3)", want: "campaign:(1,2) campaign:3"},
		"prohibited":         {query: "-campaign:(1,2)", want: "-campaign:(1,2)"},
		"sign inside":        {query: "campaign:(+1,2)", want: "+campaign:(1,2)"},
		"phrases":            {query: `text:("a b","c")`, want: `text:("a b","c")`},
		"every kind":         {query: `text:(a,b*,c~1,/d/,[e TO f],"g h"~2,>i)`, want: `text:(a,b*,c~1,/d/,[e TO f],"g h"~2,{i TO *])`},
		"quoted comma":       {query: `text:"a,b"`, want: `text:"a,b"`},
		"escaped comma":      {query: `text:a\,b`, want: `text:a\,b`},
		"nested brackets":    {query: "text:((a,b) AND c)", want: "+text:(a,b) +text:c"},
		"pattern of fields":  {query: `tags.\*:(a,b)`, want: `tags.\*:(a,b)`},
		"exists":             {query: "_exists_:(campaign,text)", want: "_exists_:campaign _exists_:text"},
		"star of all fields": {query: "*:(0,*)", want: `\*:(0,*)`},
		"space before":       {query: "campaign:1 ,2", want: "campaign:1 ,2"},
		"space, suffixed":    {query: "text:a~1 ,b", want: "text:a~1 ,b"},
		"comma in bracket":   {query: "(a,b)", want: "a,b"},
	})
	testFail(t, map[string]failCase{
		"space after":        {"campaign:1, 2", `nothing right after the comma at position 11, near " 2": expected a value; write a list with spaces as field:(a, b), and a literal comma as \,`},
		"nothing after":      {"campaign:(1,)", `a clause is missing at position 12, near ")": expected a word, a phrase or parentheses`},
		"nothing before":     {"campaign:(,1)", `nothing before the comma at position 10, near ",1)": expected a value`},
		"first":              {"campaign:,1", `no value for field "campaign" at position 9, near ",1": expected a value`},
		"nothing between":    {"campaign:1,,2", `nothing before the comma at position 11, near ",2": expected a value`},
		"boost within":       {"campaign:(1^2,3)", `a boost within a list of values at position 10, near "1^2,3)": expected the boost after the parentheses, as in field:(a,b)^2, or OR between the values`},
		"boosted star":       {"*:0,*^0", `a boost within a list of values at position 4, near "*^0": expected the boost after the parentheses, as in field:(a,b)^2, or OR between the values`},
		"negative in a list": {"campaign:(1,-2)", `misplaced - at position 12, near "-2)": expected a value; to begin a value with -, write \- or put the value in quotes`},
	})
}

func TestListTree(t *testing.T) {
	q, err := query.Parse(`campaign:(1,2)`)
	if err != nil {
		t.Fatal(err)
	}
	f := query.FieldName{Name: "campaign"}
	want := query.Any{Values: []query.Node{query.Term{Leaf: query.Leaf{Field: f}, Text: "1"}, query.Term{Leaf: query.Leaf{Field: f}, Text: "2"}}}
	if diff := cmp.Diff(query.Node(want), q.Root); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExists(t *testing.T) {
	testParse(t, map[string]parseCase{
		"exists":          {query: "_exists_:text", want: "_exists_:text"},
		"missing":         {query: "_missing_:text", want: "_missing_:text"},
		"quoted":          {query: `_exists_:"text"`, want: "_exists_:text"},
		"escaped pattern": {query: `_exists_:tags.\*`, want: `_exists_:tags.\*`},
		"pattern":         {query: `_missing_:tags.*`, want: `_missing_:tags.\*`},
		"brackets":        {query: "_exists_:(text OR id)", want: "_exists_:text _exists_:id"},
		"prohibited":      {query: "-_exists_:text", want: "-_exists_:text"},
		"not missing":     {query: "NOT _missing_:text", want: "-_missing_:text"},
		"operator":        {query: `_exists_:\AND`, want: `_exists_:\AND`},
		"inner field":     {query: "text:(_exists_:id a)", want: "_exists_:id text:a"},
	})
	testFail(t, map[string]failCase{
		"no field": {`_exists_:""`, `no field after _exists_: at position 9, near "\"\"": expected a field name, as in _exists_:content.text`},
		"a range":  {`_missing_:[1 TO 2]`, `no field after _missing_: at position 10, near "[1 TO 2]": expected a field name, as in _missing_:content.text`},
		"fuzzy":    {`_exists_:text~`, `misplaced ~ at position 13, near "~": expected a clause before it`},
	})
}
