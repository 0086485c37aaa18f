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
	burst := testPolicy
	burst.burst = true
	tests := map[string]struct {
		policy policy
		sizes  []size
		want   []int
	}{
		"nothing":                        {testPolicy, nil, nil},
		"the maximum number":             {testPolicy, docs(1, 1, 1), nil},
		"more than the maximum":          {testPolicy, docs(1, 1, 1, 1), []int{0, 1, 2, 3}},
		"the smallest first":             {testPolicy, docs(16, 4, 1, 2), []int{2, 3}},
		"up to the sum of smaller ones":  {testPolicy, docs(1, 2, 3, 6, 16), []int{0, 1, 2, 3}},
		"large by documents":             {testPolicy, docs(1, 1, 1, 17), nil},
		"large by bytes":                 {testPolicy, []size{{docs: 1}, {docs: 1}, {docs: 1}, {docs: 1, bytes: 167}}, nil},
		"a smaller share during a burst": {burst, docs(1, 1, 1, 5), nil},
		"tombstones do not count":        {testPolicy, []size{{docs: 8}, {docs: 1}, {docs: 2}, {docs: 8}}, []int{1, 2}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, test.policy.memory(test.sizes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPolicyFiles(t *testing.T) {
	burst := testPolicy
	burst.burst = true
	tests := map[string]struct {
		policy policy
		sizes  []size
		want   []int
	}{
		"nothing":                    {testPolicy, nil, nil},
		"too few in one tier":        {testPolicy, docs(100, 100, 300, 300), nil},
		"enough in one tier":         {testPolicy, docs(100, 300, 100, 200), []int{0, 2, 3}},
		"the lowest tier first":      {testPolicy, docs(300, 300, 300, 100, 100, 100), []int{3, 4, 5}},
		"more than fanIn":            {testPolicy, docs(100, 100, 100, 100, 100), []int{0, 1, 2, 3, 4}},
		"no more than maxDocs":       {testPolicy, docs(600, 600, 600, 600), []int{0, 1, 2}},
		"too large to be merged":     {testPolicy, docs(1001, 1001, 1001), nil},
		"mostly dead":                {testPolicy, []size{{docs: 100, live: 50}, {docs: 1500, live: 749}}, []int{1}},
		"the tier of live documents": {testPolicy, []size{{docs: 300, live: 200}, {docs: 100, live: 100}, {docs: 100, live: 90}}, []int{0, 1, 2}},
		"postponed during a burst":   {burst, docs(100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100), nil},
		"enough during a burst":      {burst, docs(100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
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
