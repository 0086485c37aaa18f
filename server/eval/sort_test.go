package eval_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/eval"
	"github.com/vitrine-dev/vitrine/server/query"
)

var latitude = query.Field{Name: "content.platform_data.geo_data.coordinates.latitude", Type: query.Double}

// sortable returns five documents. Documents 3 and 5 have no value in most fields. Documents 2 and 3 were created at the same time.
func sortable() []*eval.Doc {
	num := func(n int64) pair { return pair{long, query.Value{Int: n}} }
	return []*eval.Doc{
		eval.NewDoc(1, 100, pairs(num(7), str(keyword, "b"), pair{latitude, query.Value{Float: -3.5}}, pair{truth, query.Value{Int: 1}})),
		eval.NewDoc(2, 300, pairs(num(-2), str(keyword, "Rej"), pair{latitude, query.Value{Float: math.Pi}}, pair{truth, query.Value{}})),
		eval.NewDoc(3, 300, pairs()),
		eval.NewDoc(4, 50, pairs(num(7), str(keyword, "app"), pair{latitude, query.Value{Float: -40}}, pair{truth, query.Value{Int: 1}})),
		eval.NewDoc(5, 400, pairs(str(keyword, ""))),
	}
}

func TestSort(t *testing.T) {
	reversed := func(id int64) int64 { return -id }
	tests := map[string]struct {
		order query.Order
		want  []int64
	}{
		"tie rule alone":            {nil, []int64{5, 3, 2, 1, 4}},
		"numbers":                   {query.Order{{Field: "campaign"}}, []int64{2, 1, 4, 5, 3}},
		"numbers descending":        {query.Order{{Field: "campaign", Desc: true}}, []int64{1, 4, 2, 5, 3}},
		"keywords in lower case":    {query.Order{{Field: "approval_status"}}, []int64{4, 1, 2, 5, 3}},
		"keywords descending":       {query.Order{{Field: "approval_status", Desc: true}}, []int64{2, 1, 4, 5, 3}},
		"floating point":            {query.Order{{Field: latitude.Name}}, []int64{4, 1, 2, 5, 3}},
		"truth descending":          {query.Order{{Field: "featured", Desc: true}}, []int64{1, 4, 2, 5, 3}},
		"two keys":                  {query.Order{{Field: "campaign"}, {Field: "approval_status"}}, []int64{2, 4, 1, 5, 3}},
		"score":                     {query.Order{{Field: query.ScoreKey, Desc: true}}, []int64{3, 5, 2, 1, 4}},
		"random":                    {query.Order{{Field: query.RandomKey}}, []int64{5, 4, 3, 2, 1}},
		"score and then a keyword":  {query.Order{{Field: query.ScoreKey, Desc: true}, {Field: "approval_status"}}, []int64{3, 4, 1, 2, 5}},
		"nothing has it: tie rule":  {query.Order{{Field: "claimed"}}, []int64{5, 3, 2, 1, 4}},
		"a date that nothing bears": {query.Order{{Field: "content.created_on", Desc: true}}, []int64{5, 3, 2, 1, 4}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := eval.NewSorter(tc.order, reversed)
			if err != nil {
				t.Fatal(err)
			}
			var hits []eval.Hit
			for _, d := range sortable() {
				score := float32(1)
				if d.ID() == 3 {
					score = 2
				}
				hits = append(hits, eval.Hit{Doc: d, Score: score})
			}
			rng := rand.New(rand.NewPCG(1, 2))
			for range 5 {
				rng.Shuffle(len(hits), func(i, j int) { hits[i], hits[j] = hits[j], hits[i] })
				s.Sort(hits)
				var got []int64
				for _, h := range hits {
					got = append(got, h.Doc.ID())
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

// TestPlace checks that encoding a place as JSON and decoding it, as for a cursor, does not change how the place compares with others.
func TestPlace(t *testing.T) {
	order := query.Order{{Field: "approval_status", Desc: true}, {Field: latitude.Name}, {Field: query.ScoreKey, Desc: true}}
	s, err := eval.NewSorter(order, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range sortable() {
		place := s.Place(eval.Hit{Doc: d, Score: 0.1})
		b, err := json.Marshal(place)
		if err != nil {
			t.Fatal(err)
		}
		var back eval.Place
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		for _, o := range sortable() {
			other := s.Place(eval.Hit{Doc: o, Score: 0.1})
			if got, want := back.Compare(other, order), place.Compare(other, order); got != want {
				t.Errorf("%s compares with item %d as %d, want %d", b, o.ID(), got, want)
			}
			if got := place.Compare(other, order); got != -other.Compare(place, order) || (got == 0) != (o.ID() == d.ID()) {
				t.Errorf("items %d and %d compare as %d", d.ID(), o.ID(), got)
			}
		}
	}
}

// TestAScoreKeepsItsBits checks, for every score that a query can produce, that a score keeps exactly the same bits when a cursor is
// encoded and decoded.
func TestAScoreKeepsItsBits(t *testing.T) {
	s, err := eval.NewSorter(query.Order{{Field: query.ScoreKey, Desc: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	scores := []float32{0, 0.1, math.SmallestNonzeroFloat32, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	for range 1000 {
		scores = append(scores, math.Float32frombits(r.Uint32()))
	}
	for _, score := range scores {
		b, err := json.Marshal(s.Place(eval.Hit{Doc: sortable()[0], Score: score}))
		if err != nil {
			t.Fatalf("score %v: %v", score, err)
		}
		var back eval.Place
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("score %v as %s: %v", score, b, err)
		}
		got := float32(back.Values[0].Float)
		if math.Float32bits(got) != math.Float32bits(score) && !(math.IsNaN(float64(got)) && math.IsNaN(float64(score))) {
			t.Errorf("score %x comes back as %x", math.Float32bits(score), math.Float32bits(got))
		}
	}
}

// TestFavouritesComeFirst checks that a favorite precedes every other item, even an item that the order alone would place first.
func TestFavouritesComeFirst(t *testing.T) {
	order := query.Order{{Field: query.ScoreKey, Desc: true}}
	favourite := eval.Place{Values: []eval.SortValue{{Float: 1}}, ID: 1}
	other := eval.Place{Rest: true, Values: []eval.SortValue{{Float: 2}}, ID: 2}
	if a, b := favourite.Compare(other, order), other.Compare(favourite, order); a >= 0 || b <= 0 {
		t.Errorf("the favourite compares as %d, the other as %d", a, b)
	}
}

func TestSorterErrors(t *testing.T) {
	for name, order := range map[string]query.Order{
		"unknown field":          {{Field: "no_such_field"}},
		"random without a place": {{Field: query.RandomKey}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := eval.NewSorter(order, nil); err == nil {
				t.Error("no error")
			}
		})
	}
}
