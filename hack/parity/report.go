package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// outcome is how a query counts.
type outcome uint8

const (
	equal       outcome = iota // the same answer
	agreed                     // refused by both
	exceptional                // different for a known reason
	failed
	outcomes
)

// report counts by family, in the order of their first query.
type report struct {
	families   []string
	counts     map[string]*[outcomes]int
	exceptions map[string]int
}

func newReport() *report {
	return &report{counts: map[string]*[outcomes]int{}, exceptions: map[string]int{}}
}

func (r *report) count(family string, o outcome) {
	if r.counts[family] == nil {
		r.families = append(r.families, family)
		r.counts[family] = new([outcomes]int)
	}
	r.counts[family][o]++
}

// except counts a query that differs by a named exception.
func (r *report) except(family, name string) {
	r.count(family, exceptional)
	r.exceptions[name]++
}

func (r *report) failures() int {
	sum := 0
	for _, c := range r.counts {
		sum += c[failed]
	}
	return sum
}

// print writes the table of families and the exceptions that occurred.
func (r *report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	var total [outcomes]int
	row := func(name string, c [outcomes]int) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t %s\n", c[equal], c[agreed], c[exceptional], c[failed], name)
	}
	fmt.Fprintln(w, "equal\tboth refuse\texception\tfailed\t family")
	for _, family := range r.families {
		c := *r.counts[family]
		row(family, c)
		for i := range c {
			total[i] += c[i]
		}
	}
	row("all", total)
	_ = w.Flush() // a writer to a terminal: there is no one left to tell
	for _, e := range exceptions() {
		if n := r.exceptions[e.name]; n > 0 {
			fmt.Fprintf(out, "exception %q, %d queries: %s\n", e.name, n, e.reason)
		}
	}
}
