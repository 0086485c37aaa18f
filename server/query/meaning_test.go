package query_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/query"
)

func TestSpansOfWholeNumbers(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	none := [2]int64{1, 0}
	cases := map[string]struct {
		query string
		want  [2]int64
	}{
		"value":                {"id:5", [2]int64{5, 5}},
		"phrase":               {`id:"5"`, [2]int64{5, 5}},
		"negative":             {`id:\-5`, [2]int64{-5, -5}},
		"plus":                 {`id:\+5`, [2]int64{5, 5}},
		"empty fraction":       {"id:5.0", [2]int64{5, 5}},
		"point at the end":     {"id:5.", [2]int64{5, 5}},
		"exponent":             {"id:1e2", [2]int64{100, 100}},
		"negative exponent":    {`id:"1200e-2"`, [2]int64{12, 12}},
		"zero, large exponent": {"id:0e999999999999", [2]int64{0, 0}},
		"fraction":             {"id:5.5", none},
		"tiny fraction":        {`id:"1e-999999999999"`, none},
		"inclusive":            {"id:[1 TO 5]", [2]int64{1, 5}},
		"exclusive":            {"id:{1 TO 5}", [2]int64{2, 4}},
		"open":                 {"id:[* TO *]", [2]int64{least, most}},
		"open, exclusive":      {"id:{* TO *}", [2]int64{least, most}},
		"fractions":            {"id:[5.5 TO 7.5]", [2]int64{6, 7}},
		"fractions, exclusive": {"id:{5.5 TO 7.5}", [2]int64{6, 7}},
		"negative fractions":   {"id:[-7.5 TO -5.5]", [2]int64{-7, -6}},
		"small fractions":      {"id:[-0.5 TO 0.5]", [2]int64{0, 0}},
		"the largest":          {"id:9223372036854775807", [2]int64{most, most}},
		"the smallest":         {"id:[-9223372036854775808 TO 0]", [2]int64{least, 0}},
		"above the largest":    {"id:{9223372036854775807 TO *]", none},
		"below the smallest":   {"id:[* TO -9223372036854775808}", none},
		"exact above 2^53":     {"id:9007199254740993.0", [2]int64{9007199254740993, 9007199254740993}},
	}
	field, _ := query.Lookup("id")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			lo, hi, err := query.Span(parse(t, c.query), field, now)
			if err != nil {
				t.Fatal(err)
			}
			if lo > hi {
				lo, hi = none[0], none[1]
			}
			if diff := cmp.Diff(c.want, [2]int64{lo, hi}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.query, diff)
			}
		})
	}
	for _, text := range []string{"", "abc", "0x5", "5L", " 5", "1e", "1e+-2", "1e+", "e5", ".", "+", "--5", "NaN", "9223372036854775808", "1e19", "99999999999999999999", "5_0", "５"} {
		_, _, err := query.Span(query.Term{Text: text}, field, now)
		var syntax *query.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q as a whole number: %v, want a *SyntaxError", text, err)
		}
	}
}

func TestSpansOfBooleans(t *testing.T) {
	cases := map[string][2]int64{
		"featured:true":            {1, 1},
		"featured:false":           {0, 0},
		`featured:"true"`:          {1, 1},
		"featured:[false TO true]": {0, 1},
		"featured:{false TO *]":    {1, 1},
		"featured:[* TO true}":     {0, 0},
		"featured:[* TO *]":        {0, 1},
		"featured:>false":          {1, 1},
	}
	field, _ := query.Lookup("featured")
	for q, want := range cases {
		lo, hi, err := query.Span(parse(t, q), field, now)
		if diff := cmp.Diff(want, [2]int64{lo, hi}); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", q, err, diff)
		}
	}
	for _, q := range []string{"featured:{false TO true}", "featured:>true", "featured:[true TO false]"} {
		if lo, hi, err := query.Span(parse(t, q), field, now); err != nil || lo <= hi {
			t.Errorf("%s covers %d to %d, error %v", q, lo, hi, err)
		}
	}
}

func TestFloatSpans(t *testing.T) {
	inf := math.Inf(1)
	cases := map[string][2]float64{
		"1.5":           {1.5, 1.5},
		`\-1.50`:        {-1.5, -1.5},
		"1e3":           {1000, 1000},
		".5":            {0.5, 0.5},
		"[1 TO 2]":      {1, 2},
		"{1 TO 2}":      {math.Nextafter(1, inf), math.Nextafter(2, -inf)},
		"[* TO 2]":      {-inf, 2},
		"[-80 TO *]":    {-80, inf},
		"{0 TO 5e-324]": {5e-324, 5e-324},
	}
	const name = "content.platform_data.geo_data.coordinates.latitude"
	field, _ := query.Lookup(name)
	for q, want := range cases {
		lo, hi, err := query.FloatSpan(parse(t, name+":"+q), field)
		if diff := cmp.Diff(want, [2]float64{lo, hi}); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", q, err, diff)
		}
	}
	for _, text := range []string{"", "abc", "NaN", "Inf", "1e400", "0x1p1", "1.5f", "1,5"} {
		if _, _, err := query.FloatSpan(query.Term{Text: text}, field); err == nil {
			t.Errorf("%q is taken for a number", text)
		}
	}
}

// parse returns the tree of a query.
func parse(t *testing.T, q string) query.Node {
	t.Helper()
	parsed, err := query.Parse(q)
	if err != nil {
		t.Fatalf("Parse(%q): %v", q, err)
	}
	return parsed.Root
}
