package main

import "testing"

func TestExcepted(t *testing.T) {
	tests := map[string]struct {
		text string
		kind kind
		ours []hit // theirs are 1, 2
		want string
	}{
		"no value":                     {text: `love text:>`, kind: oursRefuses, want: "half a clause"},
		"no value before a space":      {text: `created_on:>= 2024`, kind: oursRefuses, want: "half a clause"},
		"no value in brackets":         {text: `text:(a <)`, kind: oursRefuses},
		"no name":                      {text: `_exists_:[a TO b]`, kind: oursRefuses, want: "half a clause"},
		"no name, sign":                {text: `_missing_:+ `, kind: oursRefuses, want: "half a clause"},
		"a name with a nearness":       {text: `_exists_: TO ~ x`, kind: oursRefuses, want: "half a clause"},
		"a whole comparison":           {text: `created_on:>2024`, kind: oursRefuses},
		"a whole presence":             {text: `_exists_:text love~1`, kind: oursRefuses},
		"a difference, not a refusal":  {text: `text:>`, kind: differs},
		"refused there alone":          {text: `text:>`, kind: theyRefuse},
		"a word and its misspelling":   {text: `are app~2`, kind: differs, ours: []hit{{id: 2}, {id: 1}}, want: "a word beside its misspelling"},
		"two misspellings":             {text: `text:(laove~1 "lvoe~" loev~1)`, kind: differs, ours: []hit{{id: 2}, {id: 1}}, want: "a word beside its misspelling"},
		"a word and its like, quoted":  {text: `"are" app~2`, kind: differs, ours: []hit{{id: 2}, {id: 1}}, want: "a word beside its misspelling"},
		"other items":                  {text: `are app~2`, kind: differs, ours: []hit{{id: 2}, {id: 3}}},
		"fewer items":                  {text: `are app~2`, kind: differs, ours: []hit{{id: 2}}},
		"words far apart":              {text: `beach app~2`, kind: differs, ours: []hit{{id: 2}, {id: 1}}},
		"one word twice":               {text: `app app`, kind: differs, ours: []hit{{id: 2}, {id: 1}}},
		"a fuzzy word of no edits":     {text: `app~0 app`, kind: differs, ours: []hit{{id: 2}, {id: 1}}},
		"a phrase and no number":       {text: `"good day" ~一`, kind: oursRefuses, want: "half a clause"},
		"a phrase and half a number":   {text: `"good day" ~1=`, kind: oursRefuses, want: "half a clause"},
		"a phrase and a boost":         {text: `"good day"~1.5^2 x`, kind: oursRefuses},
		"a phrase and a number":        {text: `"good day"~2 )`, kind: oursRefuses},
		"AND reaching back":            {text: `love a-b ... AND day`, kind: differs, want: "AND behind a word without letters"},
		"AND reaching back, quotes":    {text: `love wi-fi "!" AND day`, kind: differs, want: "AND behind a word without letters"},
		"AND reaching a single word":   {text: `love ... AND day`, kind: differs},
		"no AND":                       {text: `love a-b ... day`, kind: differs},
		"anything else that we refuse": {text: `love AND`, kind: oursRefuses},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := excepted(tt.text, verdict{kind: tt.kind, ours: tt.ours, theirs: []hit{{id: 1}, {id: 2}}}); got != tt.want {
				t.Errorf("excepted(%s) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}
