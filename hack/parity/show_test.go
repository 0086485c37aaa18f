package parity

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
)

// shown is the maximum number of hits that show prints for each side.
const shown = 10

// show compares one query and prints the results of both sides. It explains the first item that differs or, if the results are equal, the
// first item. It reports whether the results are equal.
func (b *bench) show(ctx context.Context, text string, out io.Writer) (bool, error) {
	parsed, refusal := query.Parse(text)
	if refusal == nil {
		fmt.Fprintf(out, "tree:   %s\n", parsed.Root)
	}
	v, err := b.compare(ctx, text, "")
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "sent:   %s\n", v.sent)
	if reading, err := b.theirs.reading(ctx, v.sent); err == nil {
		fmt.Fprintf(out, "Lucene: %s\n", reading)
	}
	if v.refusal != nil {
		fmt.Fprintf(out, "refused here: %v\n", v.refusal)
	}
	if v.theirRefusal != nil {
		fmt.Fprintf(out, "refused there: %v\n", v.theirRefusal)
	}
	for i := range min(shown, max(len(v.ours), len(v.theirs))) {
		fmt.Fprintf(out, "%3d  %-34s %s\n", i, at(v.ours, i), at(v.theirs, i))
	}
	fmt.Fprintf(out, "total %d here, %d in OpenSearch\n", len(v.ours), len(v.theirs))
	if v.difference != "" {
		fmt.Fprintf(out, "DIFFERS: %s\n", v.difference)
	}
	if id, ok := firstOdd(v.ours, v.theirs); refusal == nil && v.kind != oursRefuses && v.kind != bothRefuse && ok {
		if err := b.explain(ctx, parsed.Root, v.sent, id, out); err != nil {
			return false, err
		}
	}
	return v.kind == same || v.kind == bothRefuse, nil
}

// explain prints the explanations of both sides for one item.
func (b *bench) explain(ctx context.Context, n query.Node, sent string, id int64, out io.Writer) error {
	for _, d := range b.docs {
		if d.id == id {
			fmt.Fprintf(out, "item %d: %q\nhere:\n", id, d.fields)
		}
	}
	ours, err := b.ours.explain(ctx, n, id)
	if err != nil {
		return err
	}
	printExplanation(out, ours, 1)
	theirs, err := b.theirs.explain(ctx, sent, id)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "OpenSearch:\n%s", theirs)
	return nil
}

func printExplanation(out io.Writer, x library.Explanation, depth int) {
	fmt.Fprintf(out, "%s%v %g %s %s (%s)\n", strings.Repeat("  ", depth), x.Matched, x.Score, x.Occur, x.Clause, x.Detail)
	for _, c := range x.Children {
		printExplanation(out, c, depth+1)
	}
}

// at formats the hit at place i.
func at(hits []hit, i int) string {
	if i >= len(hits) {
		return "-"
	}
	return fmt.Sprintf("%d (%g)", hits[i].id, hits[i].score)
}
