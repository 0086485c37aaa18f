package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/query/querystring"
)

// bench holds both sides.
type bench struct {
	ours   *engine
	theirs *oracle
	now    time.Time
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

// compare asks both sides. The error is that of a node that cannot be asked.
func (b *bench) compare(ctx context.Context, text string) (verdict, error) {
	v := verdict{sent: text}
	parsed, refusal := query.Parse(text)
	if refusal == nil {
		if v.ours, refusal = b.ours.search(ctx, parsed.Root); refusal == nil {
			v.sent, refusal = querystring.Rewrite(parsed.Root, querystring.Options{Now: b.now, Source: text})
		}
	}
	var syntax *query.SyntaxError
	if refusal != nil && !errors.As(refusal, &syntax) {
		return v, fmt.Errorf("evaluate %s: %w", text, refusal)
	}
	var err error
	var no *oracleError
	v.theirs, err = b.theirs.search(ctx, v.sent)
	if err != nil && !(errors.As(err, &no) && no.aboutQuery()) {
		return v, err
	}
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

// judgeAll compares the questions and prints what fails, each in one line, and the counts. It reports whether every one
// is equal or a named exception.
func (b *bench) judgeAll(ctx context.Context, questions []question, out io.Writer) (bool, error) {
	r := newReport()
	for _, q := range questions {
		v, err := b.compare(ctx, q.text)
		if err != nil {
			return false, err
		}
		complaint := q.judge(v)
		switch {
		case complaint == "" && v.kind == bothRefuse:
			r.count(q.family, agreed)
		case complaint == "":
			r.count(q.family, equal)
		case excepted(q.text, v) != "":
			r.except(q.family, excepted(q.text, v))
		default:
			r.count(q.family, failed)
			line, err := b.shortest(ctx, q, v)
			if err != nil {
				return false, err
			}
			fmt.Fprintf(out, "FAIL %s: %s\n", q.family, line)
		}
	}
	r.print(out)
	return r.failures() == 0, nil
}

// shortest cuts a failing question down and describes it in one line.
func (b *bench) shortest(ctx context.Context, q question, v verdict) (string, error) {
	describe := func(text string, v verdict) string {
		s := fmt.Sprintf("%q", text)
		if v.sent != text {
			s += fmt.Sprintf(" (sent as %q)", v.sent)
		}
		return s + ": " + q.judge(v)
	}
	if q.family == refused {
		return describe(q.text, v), nil
	}
	var broken error
	short, last := q.text, v
	short = minimise(q.text, func(text string) bool {
		if broken != nil {
			return false
		}
		w, err := b.compare(ctx, text)
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
