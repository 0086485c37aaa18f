package parity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vitrine-dev/vitrine/hack/querystring"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// subject is the library that is compared with OpenSearch ("our side").
type subject interface {
	// search returns every match in the given order. The tie rule determines the order of items that are equal in it.
	search(ctx context.Context, n query.Node, order query.Order) ([]hit, error)
	// explain returns why an item does or does not match a query.
	explain(ctx context.Context, n query.Node, id int64) (library.Explanation, error)
}

// bench contains both sides of the comparison.
type bench struct {
	ours   subject
	theirs *oracle
	// exceptions are the known differences between both sides.
	exceptions []exception
	now        time.Time
	// docs are the items that both sides have.
	docs []document
	// canonical is true if all queries are sent in their canonical form instead of the form in which they were written.
	canonical bool
	// old is true if the node is an OpenSearch 2. It ranks keywords by their rarity, so only the items are compared, and not their order by
	// relevance. For regular expressions, see querystring.Options.Printed.
	old bool
}

// verdict is the result of one query.
type verdict struct {
	kind kind
	// scored is true if the order is by relevance.
	scored bool
	// sent is the text that was sent to OpenSearch.
	sent string
	// difference describes the difference in one sentence; "" if there is none.
	difference string
	ours       []hit
	theirs     []hit
	// refusal and theirRefusal are the reasons why a side rejects the query, or nil.
	refusal, theirRefusal error
}

// kind is the kind of a verdict. The reduction of a failing query keeps the kind of its verdict.
type kind uint8

const (
	same        kind = iota // equal results
	bothRefuse              // both sides reject the query
	oursRefuses             // only our side rejects the query
	theyRefuse              // only OpenSearch rejects the query
	differs                 // different results
)

// byRelevance is the order of a question without an order.
const byRelevance = "_score:desc"

// compare sends a query to both sides. It returns an error if the node cannot be queried.
func (b *bench) compare(ctx context.Context, text, sort string) (verdict, error) {
	v := verdict{sent: text}
	order, err := query.ParseOrder(cmp.Or(sort, byRelevance))
	if err != nil {
		return v, fmt.Errorf("parse the order: %w", err)
	}
	v.scored = order.Scored()
	parsed, refusal := query.Parse(text)
	if refusal == nil {
		if v.ours, refusal = b.ours.search(ctx, parsed.Root, order); refusal == nil {
			o := querystring.Options{Now: b.now, Source: text, Printed: b.old}
			if b.canonical {
				o.Source = ""
			}
			v.sent, refusal = querystring.Rewrite(parsed.Root, o)
		}
	}
	var syntax *query.SyntaxError
	if refusal != nil && !errors.As(refusal, &syntax) {
		return v, fmt.Errorf("evaluate %s: %w", text, refusal)
	}
	var no *oracleError
	v.theirs, err = b.theirs.search(ctx, v.sent, order)
	if err != nil && !(errors.As(err, &no) && no.aboutQuery()) {
		return v, err
	}
	v.refusal, v.theirRefusal = refusal, err
	switch {
	case refusal != nil && err != nil:
		v.kind = bothRefuse
	case refusal != nil:
		v.kind, v.difference = oursRefuses, fmt.Sprintf("refused here (%v), %d items in OpenSearch", refusal, len(v.theirs))
	case err != nil:
		v.kind, v.difference = theyRefuse, fmt.Sprintf("%d items here, %v", len(v.ours), err)
	default:
		if b.old && v.scored {
			v.ours, v.theirs = unranked(v.ours), unranked(v.theirs)
		}
		if v.difference = compare(v.ours, v.theirs); v.difference != "" {
			v.kind = differs
		}
	}
	return v, nil
}

// unranked returns hits without scores, in the order of their ids.
func unranked(hits []hit) []hit {
	list := make([]hit, len(hits))
	for i, h := range hits {
		list[i].id = h.id
	}
	slices.SortFunc(list, func(a, b hit) int { return cmp.Compare(a.id, b.id) })
	return list
}

// judge decides whether a verdict is a failure of a question: both sides must agree, and both must reject the queries of the family
// refused. It returns a description of the failure, or "".
func (q question) judge(v verdict) string {
	if q.family == refused && v.kind == same {
		return fmt.Sprintf("both answer with %d items and should refuse", len(v.theirs))
	}
	return v.difference
}

// asked is the maximum number of concurrent questions.
const asked = 4

// judgeAll compares both sides for all questions, and reports the results in the order of the questions. It returns an error if the node
// cannot be queried.
func (b *bench) judgeAll(ctx context.Context, questions []question) (*report, error) {
	type result struct {
		outcome   outcome
		exception string
		verdict   verdict // set only for a failed question, because a verdict can contain thousands of hits
	}
	results := make([]result, len(questions))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(asked)
	for i, q := range questions {
		group.Go(func() error {
			v, err := b.compare(groupCtx, q.text, q.order)
			switch complaint, exception := q.judge(v), excepted(b.exceptions, q.text, v); {
			case complaint == "" && v.kind == bothRefuse:
				results[i].outcome = agreed
			case complaint == "":
				results[i].outcome = equal
			case exception != "":
				results[i].outcome, results[i].exception = exceptional, exception
			default:
				results[i] = result{outcome: failed, verdict: v}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r := &report{counts: map[string]*[outcomes]int{}, exceptions: map[string]int{}}
	for i, q := range questions {
		r.count(q.family, results[i].outcome)
		switch results[i].outcome {
		case exceptional:
			r.exceptions[results[i].exception]++
		case failed:
			line, err := b.shortest(ctx, q, results[i].verdict)
			if err != nil {
				return nil, err
			}
			r.failures = append(r.failures, q.family+": "+line)
		}
	}
	return r, nil
}

// outcome is the category under which the report counts a query.
type outcome uint8

const (
	equal       outcome = iota // equal results
	agreed                     // rejected by both sides
	exceptional                // different for a known reason
	failed
	outcomes
)

// report contains the results of a run. families is in the order in which the families first occur.
type report struct {
	families   []string
	counts     map[string]*[outcomes]int
	exceptions map[string]int
	failures   []string
}

func (r *report) count(family string, o outcome) {
	if r.counts[family] == nil {
		r.families = append(r.families, family)
		r.counts[family] = new([outcomes]int)
	}
	r.counts[family][o]++
}

// print writes the table of families and the exceptions that occurred.
func (r *report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, c [outcomes]int) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t %s\n", c[equal], c[agreed], c[exceptional], c[failed], name)
	}
	fmt.Fprintln(w, "equal\tboth refuse\texception\tfailed\t family")
	var total [outcomes]int
	for _, family := range r.families {
		row(family, *r.counts[family])
		for i, n := range r.counts[family] {
			total[i] += n
		}
	}
	row("all", total)
	_ = w.Flush() // ignore an error: there is nowhere to report that the terminal cannot be written
	for _, e := range clusterExceptions() {
		if n := r.exceptions[e.name]; n > 0 {
			fmt.Fprintf(out, "exception %q, %d queries: %s\n", e.name, n, e.reason)
		}
	}
}

// shortest reduces the query of a failing question, and describes the question in one line.
func (b *bench) shortest(ctx context.Context, q question, v verdict) (string, error) {
	describe := func(text string, v verdict) string {
		s := fmt.Sprintf("%q", text)
		if v.sent != text {
			s += fmt.Sprintf(" (sent as %q)", v.sent)
		}
		if q.order != "" {
			s += " by " + q.order
		}
		return s + ": " + q.judge(v)
	}
	if q.family == refused {
		return describe(q.text, v), nil
	}
	var broken error
	last := v
	short := minimise(q.text, func(text string) bool {
		if broken != nil {
			return false
		}
		w, err := b.compare(ctx, text, q.order)
		if err != nil {
			broken = err
			return false
		}
		if w.kind != v.kind {
			return false
		}
		last = w
		return true
	})
	if broken != nil {
		return "", broken
	}
	line := describe(short, last)
	if short != q.text {
		line += fmt.Sprintf(" [from %q]", q.text)
	}
	return line, nil
}
