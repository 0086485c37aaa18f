package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/querystring"
)

// bench holds both sides.
type bench struct {
	ours   subject
	theirs *oracle
	now    time.Time
	// docs are the items that both hold.
	docs []document
	// canonical is true where no query is sent as it was written.
	canonical bool
}

// verdict is what came of one query.
type verdict struct {
	kind kind
	// sent is the text that OpenSearch was asked.
	sent string
	// difference says in one sentence what differs, "" where nothing does.
	difference string
	ours       []hit
	theirs     []hit
	// refusal and theirRefusal say why a side refuses the query; nil where it answers.
	refusal, theirRefusal error
}

// kind tells verdicts apart: a query is cut down only as long as its verdict stays of one kind.
type kind uint8

const (
	same        kind = iota // the same answer
	bothRefuse              // both refuse the query
	oursRefuses             // we alone do
	theyRefuse              // OpenSearch alone does
	differs                 // two answers that are not the same
)

// byRelevance is the order of a question that names none.
const byRelevance = "_score:desc"

// compare asks both sides. The error is that of a node that cannot be asked.
func (b *bench) compare(ctx context.Context, text, sort string) (verdict, error) {
	v := verdict{sent: text}
	order, err := query.ParseOrder(cmp.Or(sort, byRelevance))
	if err != nil {
		return v, fmt.Errorf("parse the order: %w", err)
	}
	parsed, refusal := query.Parse(text)
	if refusal == nil {
		if v.ours, refusal = b.ours.search(ctx, parsed.Root, order); refusal == nil {
			o := querystring.Options{Now: b.now, Source: text}
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
		if v.difference = compare(v.ours, v.theirs); v.difference != "" {
			v.kind = differs
		}
	}
	return v, nil
}

// judge holds a verdict against what its family asks for. It returns the complaint, "" for none.
func (q question) judge(v verdict) string {
	if q.family == refused && v.kind == same {
		return fmt.Sprintf("both answer with %d items and should refuse", len(v.theirs))
	}
	return v.difference
}

// asked is how many questions are under way at once.
const asked = 4

// judgeAll compares the questions and prints what fails, each in one line and in their order, and the counts. It reports
// whether every one is equal or a named exception.
func (b *bench) judgeAll(ctx context.Context, questions []question, out io.Writer) (bool, error) {
	ctx, stop := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer func() { // nothing is asked any more when the index goes
		stop()
		asking.Wait()
	}()
	r := newReport()
	for answer := range b.askAll(ctx, &asking, questions) {
		a := <-answer
		if a.err != nil {
			return false, a.err
		}
		if err := b.enter(ctx, r, a, out); err != nil {
			return false, err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	r.print(out)
	return r.failures() == 0, nil
}

// answer is what came of one question.
type answer struct {
	question
	verdict
	err error
}

// askAll asks a few questions at once and yields their answers to come, in the order of the questions. It ends early
// with the context; asking is done once no question is under way any more.
func (b *bench) askAll(ctx context.Context, asking *sync.WaitGroup, questions []question) <-chan chan answer {
	// An answer holds a place in the line until it is read, so that few are in memory.
	line := make(chan chan answer, asked-1)
	asking.Go(func() {
		defer close(line)
		for _, q := range questions {
			one := make(chan answer, 1)
			select {
			case line <- one:
			case <-ctx.Done():
				return
			}
			asking.Go(func() {
				v, err := b.compare(ctx, q.text, q.order)
				one <- answer{q, v, err}
			})
		}
	})
	return line
}

// enter counts an answer, and prints it where it fails.
func (b *bench) enter(ctx context.Context, r *report, a answer, out io.Writer) error {
	complaint := a.judge(a.verdict)
	exception := excepted(a.text, a.verdict)
	switch {
	case complaint == "" && a.kind == bothRefuse:
		r.count(a.family, agreed)
	case complaint == "":
		r.count(a.family, equal)
	case exception != "":
		r.except(a.family, exception)
	default:
		r.count(a.family, failed)
		line, err := b.shortest(ctx, a.question, a.verdict)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "FAIL %s: %s\n", a.family, line)
	}
	return nil
}

// shortest cuts a failing question down and describes it in one line.
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
