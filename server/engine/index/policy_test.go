package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testPolicy has tiers of at most 200, 600 and 1,800 live documents, and merged files of at most 2,000 documents.
var testPolicy = policy{sealDocs: 100, sealBytes: 1000, memoryParts: 3, fanIn: 3, maxDocs: 2000}

// docs returns sizes of segments that have the given numbers of documents and no tombstones.
func docs(counts ...int) []size {
	sizes := make([]size, len(counts))
	for i, n := range counts {
		sizes[i] = size{docs: n, live: n}
	}
	return sizes
}

func TestPolicyMemory(t *testing.T) {
	burst, quiet := testPolicy, testPolicy
	burst.burst, quiet.quiet = true, true
	tests := map[string]struct {
		policy policy
		sizes  []size
		want   []int
	}{
		"nothing":                            {testPolicy, nil, nil},
		"the maximum number":                 {testPolicy, docs(1, 1, 1), nil},
		"more than the maximum":              {testPolicy, docs(1, 1, 1, 1), []int{0, 1, 2, 3}},
		"the smallest first":                 {testPolicy, docs(16, 4, 1, 2), []int{2, 3}},
		"up to the sum of smaller ones":      {testPolicy, docs(1, 2, 3, 6, 16), []int{0, 1, 2, 3}},
		"large by documents":                 {testPolicy, docs(1, 1, 1, 17), nil},
		"large by bytes":                     {testPolicy, []size{{docs: 1}, {docs: 1}, {docs: 1}, {docs: 1, bytes: 167}}, nil},
		"a smaller share during a burst":     {burst, docs(1, 1, 1, 5), nil},
		"similar segments in a quiet period": {quiet, docs(60, 1, 2, 18, 6), []int{1, 2, 4, 3}},
		"tombstones do not count":            {testPolicy, []size{{docs: 8}, {docs: 1}, {docs: 2}, {docs: 8}}, []int{1, 2}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, test.policy.memory(test.sizes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPolicyFiles(t *testing.T) {
	burst, quiet := testPolicy, testPolicy
	burst.burst, quiet.quiet = true, true
	tests := map[string]struct {
		policy policy
		sizes  []size
		want   []int
	}{
		"nothing":                          {testPolicy, nil, nil},
		"too few in one tier":              {testPolicy, docs(100, 100, 300, 300), nil},
		"enough in one tier":               {testPolicy, docs(100, 300, 100, 200), []int{0, 2, 3}},
		"the lowest tier first":            {testPolicy, docs(300, 300, 300, 100, 100, 100), []int{3, 4, 5}},
		"more than fanIn":                  {testPolicy, docs(100, 100, 100, 100, 100), []int{0, 1, 2, 3, 4}},
		"no more than maxDocs":             {testPolicy, docs(600, 600, 600, 600), []int{0, 1, 2}},
		"fewer than fanIn":                 {testPolicy, docs(900, 900, 900), []int{0, 1}},
		"too large to be merged":           {testPolicy, docs(1001, 1001, 1001), nil},
		"mostly dead":                      {testPolicy, []size{{docs: 100, live: 50}, {docs: 1500, live: 749}}, []int{1}},
		"the tier of live documents":       {testPolicy, []size{{docs: 300, live: 200}, {docs: 100, live: 100}, {docs: 100, live: 90}}, []int{0, 1, 2}},
		"postponed during a burst":         {burst, docs(100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100), nil},
		"similar files in a quiet period":  {quiet, docs(100, 201, 700, 300), []int{1, 3, 2}},
		"the tier first in a quiet period": {quiet, docs(100, 201, 205, 210, 700, 700), []int{1, 2, 3}},
		"enough during a burst":            {burst, docs(100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, test.policy.files(test.sizes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPolicySeal(t *testing.T) {
	tests := map[string]struct {
		docs             int
		bytes, journaled int64
		want             bool
	}{
		"nothing":               {0, 0, 0, false},
		"just below all limits": {99, 999, 399, false},
		"enough documents":      {100, 0, 0, true},
		"enough bytes":          {0, 1000, 0, true},
		"a long journal alone":  {0, 0, 400, true},
	}
	for name, test := range tests {
		if got := testPolicy.seal(test.docs, test.bytes, test.journaled); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestPolicySimilar(t *testing.T) {
	tests := map[string]struct {
		sizes []size
		want  []int
	}{
		"nothing":                              {nil, nil},
		"one":                                  {docs(5), nil},
		"the same size":                        {docs(5, 5), []int{0, 1}},
		"up to twice the sum of smaller ones":  {docs(24, 1, 2, 6, 55), []int{1, 2, 3}},
		"starting with the second":             {docs(1, 5, 5, 30), []int{1, 2}},
		"too different":                        {docs(1, 3, 10, 40), nil},
		"no more than maxDocs":                 {docs(600, 700, 800), []int{0, 1}},
		"the next ones exceed maxDocs as well": {docs(900, 1000, 800), []int{2, 0}},
		"too large to be merged":               {docs(900, 1001), nil},
		"live documents":                       {[]size{{docs: 9, live: 3}, {docs: 3, live: 1}, {docs: 5, live: 5}, {docs: 2, live: 2}}, []int{1, 3, 0, 2}},
		"without live documents":               {[]size{{docs: 9}, {docs: 3, live: 3}, {docs: 4, live: 4}}, []int{1, 2}},
		"only without live documents":          {[]size{{docs: 9}, {docs: 3}}, []int{0, 1}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, testPolicy.similar(test.sizes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
