package transfer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/transfer"
)

var randomSeed = flag.Uint64("random.seed", 0, "the seed of the contents and interruptions (0: from the time)")

func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-random.seed=%d", seed)
	return seed
}

// TestRoundTrip copies a library to each implementation and back, and compares everything that callers see.
func TestRoundTrip(t *testing.T) {
	for _, kind := range []string{"reference", "opensearch"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			first, second, third := kinds["engine"](t), kinds[kind](t), kinds["engine"](t)
			from := first.library(t)
			fill(t, from, newSeed(t))
			want := answers(t, from)
			reads := cursors(t, from)
			wantPages := pages(t, from, reads)

			report, err := second.copyOf(t.Context(), t, from, unchanged)
			if err != nil {
				t.Fatal(err)
			}
			middle := second.library(t)
			if diff := cmp.Diff(want, answers(t, middle)); diff != "" {
				t.Fatalf("after the first copy:\n%s", diff)
			}
			if diff := cmp.Diff(wantPages, pages(t, middle, reads)); diff != "" {
				t.Errorf("cursors of the source:\n%s", diff)
			}
			back, err := third.copyOf(t.Context(), t, middle, unchanged)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(report, back); diff != "" {
				t.Errorf("the reports differ:\n%s", diff)
			}
			to := third.library(t)
			if diff := cmp.Diff(want, answers(t, to)); diff != "" {
				t.Fatalf("after the second copy:\n%s", diff)
			}
			for _, l := range []movable{from, middle} {
				if err := l.Source().Thaw(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			goesOn := continued(t, from)
			for _, l := range []movable{middle, to} {
				if diff := cmp.Diff(goesOn, continued(t, l)); diff != "" {
					t.Errorf("later writes:\n%s", diff)
				}
			}
		})
	}
}

var errInterrupted = errors.New("interrupted")

// interrupted is a target that fails at random, after it has stored a random part of the items that it received.
type interrupted struct {
	transfer.Target
	*rand.Rand
}

func (i interrupted) Put(ctx context.Context, p library.PropertyID, lines []transfer.Line) error {
	if i.IntN(2) == 0 {
		return i.Target.Put(ctx, p, lines)
	}
	var some []transfer.Line
	for _, l := range lines {
		if i.IntN(2) == 0 {
			some = append(some, l)
		}
	}
	return errors.Join(errInterrupted, i.Target.Put(ctx, p, some))
}

func (i interrupted) Begin(ctx context.Context, f transfer.Freeze, facts *transfer.Facts) error {
	err := i.Target.Begin(ctx, f, facts)
	if err == nil && i.IntN(4) == 0 {
		err = errInterrupted
	}
	return err
}

func (i interrupted) Finish(ctx context.Context, done map[library.PropertyID]transfer.Finished) error {
	if i.IntN(4) == 0 {
		return errInterrupted
	}
	return i.Target.Finish(ctx, done)
}

// copyInPieces copies a library with interruptions until a copy succeeds. After each interruption, it calls the function between.
func (p place) copyInPieces(t *testing.T, from movable, r *rand.Rand, between func()) *transfer.Report {
	t.Helper()
	for {
		report, err := p.copyOf(t.Context(), t, from, func(to transfer.Target) transfer.Target { return interrupted{to, r} })
		if err == nil {
			return report
		}
		if !errors.Is(err, errInterrupted) {
			t.Fatal(err)
		}
		between()
	}
}

// TestInterruptions checks that a library cannot be opened from a copy that was interrupted at any point, and that the next copy continues
// it.
func TestInterruptions(t *testing.T) {
	for _, kind := range []string{"engine", "opensearch"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			seed := newSeed(t)
			first, second := kinds["reference"](t), kinds[kind](t)
			from := first.library(t)
			fill(t, from, seed)
			want := answers(t, from)
			r := rand.New(rand.NewPCG(seed, 2))
			second.copyInPieces(t, from, r, func() {
				if l, err := second.open(t); err == nil || !strings.Contains(err.Error(), "run vitrine migrate again to finish it, or delete") {
					t.Fatalf("an unfinished copy was opened: %v, %v", l, err)
				}
			})
			if diff := cmp.Diff(want, answers(t, second.library(t))); diff != "" {
				t.Errorf("after the interruptions:\n%s", diff)
			}
		})
	}
}

// TestManyItems copies, with interruptions, more items than a library reads or writes at once.
func TestManyItems(t *testing.T) {
	for _, kind := range []string{"engine", "opensearch"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const items = 2600
			first, second, third := kinds["engine"](t), kinds[kind](t), kinds["engine"](t)
			from := first.library(t)
			apply(t, from, property(shop))
			muts := make([]library.Mutation, items)
			for i := range muts {
				muts[i] = line(t, fmt.Sprintf(`{"id":%d,"short_code":"c%d","content":{"content_type":"image","text":"number %d"}}`, 2*i+1, i, i))
			}
			write(t, from, shop, muts...)
			r := rand.New(rand.NewPCG(newSeed(t), 3))
			report := second.copyInPieces(t, from, r, func() {})
			if diff := cmp.Diff(report.Properties, third.copyInPieces(t, second.library(t), r, func() {}).Properties); diff != "" {
				t.Errorf("the reports differ:\n%s", diff)
			}
			if p := report.Properties[0]; p.Items != items || p.Sequence != 2*items-1 {
				t.Errorf("%+v", p)
			}
			exported := func(l movable) (lines []string) {
				for text, err := range l.Export(t.Context(), shop, nil) {
					if err != nil {
						t.Fatal(err)
					}
					lines = append(lines, string(text))
				}
				return lines
			}
			want, got := exported(from), exported(third.library(t))
			if diff := cmp.Diff(want, got); diff != "" || len(want) != items {
				t.Errorf("%d items:\n%s", len(want), diff)
			}
		})
	}
}

// TestCancelledCopy checks that a copy ends when its context is canceled.
func TestCancelledCopy(t *testing.T) {
	from := kinds["engine"](t).library(t)
	fill(t, from, newSeed(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	if _, err := kinds["engine"](t).copyOf(ctx, t, from, unchanged); !errors.Is(err, errInterrupted) && !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled copy: %v", err)
	}
}

// TestTargets checks that a copy refuses some targets and accepts others.
func TestTargets(t *testing.T) {
	for _, kind := range []string{"engine", "opensearch"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			from := kinds["reference"](t).library(t)
			fill(t, from, newSeed(t))

			full := kinds[kind](t)
			l, err := full.open(t)
			if err != nil {
				t.Fatal(err)
			}
			apply(t, l, property(shop))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			to, err := full.target(t)
			if err == nil {
				_, err = transfer.Copy(t.Context(), from.Source(), to, func(transfer.Progress) {})
				_ = to.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "choose a") {
				t.Errorf("a target with a library: %v", err)
			}

			if _, ok := errors.AsType[*transfer.RefusedError](err); !ok {
				t.Error("the error is no RefusedError")
			}
			if frozen, err := from.Source().Frozen(t.Context()); frozen != "" || err != nil {
				t.Errorf("the source is frozen after a copy that was refused: %v, %v", frozen, err)
			}

			half := kinds[kind](t)
			stop := func(to transfer.Target) transfer.Target { return stopped{to} }
			if _, err := half.copyOf(t.Context(), t, from, stop); !errors.Is(err, errInterrupted) {
				t.Fatal(err)
			}
			if err := from.Source().Thaw(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := half.copyOf(t.Context(), t, from, unchanged); err == nil || !strings.Contains(err.Error(), "or of this one at another time") {
				t.Errorf("an unfinished copy of an earlier freeze: %v", err)
			}
		})
	}
}

// stopped is a target that stores no items.
type stopped struct{ transfer.Target }

func (stopped) Put(context.Context, library.PropertyID, []transfer.Line) error { return errInterrupted }

// TestFreeze checks that a frozen library refuses all changes and serves reads, even after a restart and in other processes. Once thawed,
// it must accept changes again.
func TestFreeze(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			at := kinds[kind](t)
			l, err := at.open(t)
			if err != nil {
				t.Fatal(err)
			}
			fill(t, l, newSeed(t))
			want := answers(t, l)
			freeze, err := l.Source().Freeze(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			frozen := func() {
				t.Helper()
				filter := httpFilter(shop, 2, "")
				_, added := l.Write(t.Context(), shop, []library.Mutation{line(t, `{"content":{"content_type":"image"}}`)})
				_, deleted := l.Write(t.Context(), shop, []library.Mutation{{Delete: true, ID: 1}})
				_, applied := l.Apply(t.Context(), []library.Definition{tagRule("fresh", "")})
				_, created := l.Apply(t.Context(), []library.Definition{httpFilter(shop, 9, "")})
				_, removed := l.Remove(t.Context(), []library.Owner{token(shop, "front").Owner})
				_, swept := l.Sweep(t.Context(), library.Scope{Install: "cluster", Kinds: []library.Kind{library.KindToken}, Confirmed: true}, nil)
				_, edited := l.EditFilter(t.Context(), shop, library.FilterRef{UUID: filter.Filter.UUID}, func(library.FilterRecord) (*library.Filter, error) { return nil, nil })
				for what, err := range map[string]error{
					"add": added, "delete": deleted, "apply": applied, "create": created, "remove": removed, "sweep": swept,
					"remove a filter": edited, "purge": l.Purge(t.Context(), gone), "mark": l.SetMark(t.Context(), "install", "another"),
				} {
					var is *library.FrozenError
					if !errors.As(err, &is) || !errors.Is(err, library.ErrUnavailable) || !is.Since.Equal(noon) {
						t.Errorf("%s: %v, want a FrozenError", what, err)
					}
				}
				if _, err := l.Apply(t.Context(), []library.Definition{property(shop), tagRule("summer", "text:beach", 3)}); err != nil {
					t.Errorf("definitions that are stored already: %v", err)
				}
				if err := l.SetMark(t.Context(), "install", "cluster"); err != nil {
					t.Errorf("a mark that is stored already: %v", err)
				}
				if again, err := l.Source().Freeze(t.Context()); again != freeze || err != nil {
					t.Errorf("freeze again: %q, %v; want %q", again, err, freeze)
				}
				if state := l.State(t.Context()); kind != "reference" && (!state.Ready || !strings.Contains(state.Problem, "vitrine migrate --cancel")) {
					t.Errorf("state: %+v", state)
				}
			}
			frozen()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = at.library(t)
			frozen()
			if diff := cmp.Diff(want, answers(t, l)); diff != "" {
				t.Errorf("answers while frozen:\n%s", diff)
			}
			for range 2 {
				if err := l.Source().Thaw(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			write(t, l, shop, line(t, `{"content":{"content_type":"image"}}`))
			apply(t, l, tagRule("fresh", ""))
			if state := l.State(t.Context()); state.Problem != "" {
				t.Errorf("thawed: %s", state.Problem)
			}
		})
	}
}

// damaged is a target that reads back different data than it received.
type damaged struct {
	transfer.Target
	facts func(*transfer.Facts)
	line  func(*transfer.Line) bool
}

func (d *damaged) Facts(ctx context.Context) (*transfer.Facts, error) {
	f, err := d.Target.Facts(ctx)
	if err == nil && d.facts != nil {
		d.facts(f)
	}
	return f, err
}

func (d *damaged) Lines(ctx context.Context, p library.PropertyID) iter.Seq2[transfer.Line, error] {
	return func(yield func(transfer.Line, error) bool) {
		for l, err := range d.Target.Lines(ctx, p) {
			if (d.line == nil || d.line(&l)) && !yield(l, err) {
				return
			}
		}
	}
}

// TestVerification checks that Copy does not finish a target that differs from its source in any way.
func TestVerification(t *testing.T) {
	from := kinds["engine"](t).library(t)
	fill(t, from, newSeed(t))
	facts := func(change func(*transfer.Facts)) damaged { return damaged{facts: change} }
	inShop := func(change func(*transfer.Property)) damaged {
		return facts(func(f *transfer.Facts) {
			p := f.Properties[shop]
			change(&p)
			f.Properties[shop] = p
		})
	}
	for name, test := range map[string]struct {
		damage damaged
		want   string
	}{
		"a byte of an item": {damaged{line: func(l *transfer.Line) bool { l.Text[len(l.Text)/2] ^= 1; return true }}, "an item of property"},
		"the id of an item": {damaged{line: func(l *transfer.Line) bool { l.ID += l.ID / 7; return true }}, "an item of property"},
		"a history":         {damaged{line: func(l *transfer.Line) bool { l.History = l.History[1:]; return true }}, "an item of property"},
		"a missing item":    {damaged{line: func(l *transfer.Line) bool { return l.ID != 7 }}, "number of items of property shop/default"},
		"the key":           {facts(func(f *transfer.Facts) { f.AuthorKey[0]++ }), "author references"},
		"a mark":            {facts(func(f *transfer.Facts) { f.Marks["install"] = "x" }), "marks"},
		"a property":        {facts(func(f *transfer.Facts) { delete(f.Properties, gone) }), "list of properties"},
		"a definition": {facts(func(f *transfer.Facts) {
			for s := range f.Definitions {
				delete(f.Definitions, s)
				break
			}
		}), "number of definitions"},
		"the sequence": {inShop(func(p *transfer.Property) { p.Sequence-- }), "highest item id of property shop/default"},
		"a name": {inShop(func(p *transfer.Property) {
			for n := range p.Names {
				delete(p.Names, n)
				break
			}
		}), "field names of property shop/default"},
		"a tag": {inShop(func(p *transfer.Property) { delete(p.Tags, item.Tag{Namespace: "only", Key: "deleted"}) }), "tags of property shop/default"},
	} {
		t.Run(name, func(t *testing.T) {
			at := kinds["engine"](t)
			_, err := at.copyOf(t.Context(), t, from, func(to transfer.Target) transfer.Target {
				test.damage.Target = to
				return &test.damage
			})
			var mismatch *transfer.MismatchError
			if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want a MismatchError with %q", err, test.want)
			}
			if _, err := at.open(t); err == nil {
				t.Error("a copy that differs was opened")
			}
		})
	}
}

// TestThawDuringCopy checks that Copy does not finish a target if the source was thawed during the copy.
func TestThawDuringCopy(t *testing.T) {
	from, at := kinds["engine"](t).library(t), kinds["engine"](t)
	fill(t, from, newSeed(t))
	_, err := at.copyOf(t.Context(), t, from, func(to transfer.Target) transfer.Target { return thawing{to, from.Source()} })
	if err == nil || !strings.Contains(err.Error(), "canceled while it ran") {
		t.Errorf("%v", err)
	}
	if _, err := at.open(t); err == nil {
		t.Error("the copy was opened")
	}
}

// thawing is a target that thaws the source with each batch that it stores.
type thawing struct {
	transfer.Target
	from transfer.Source
}

func (i thawing) Put(ctx context.Context, p library.PropertyID, lines []transfer.Line) error {
	return errors.Join(i.from.Thaw(ctx), i.Target.Put(ctx, p, lines))
}
