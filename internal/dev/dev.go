// Package dev serves the manifests in files and folders without a cluster. It reads and validates the manifests, applies them to a library,
// and follows their changes. It reports errors with the same messages as the operator's conditions. If a manifest becomes invalid, the
// library keeps serving the last valid version of the object.
//
// It may import internal/cli, api, controllers/translate, and the domain.
package dev

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vitrine-dev/vitrine/api/v1alpha1"
	"github.com/vitrine-dev/vitrine/controllers/translate"
	"github.com/vitrine-dev/vitrine/internal/cli/manifest"
	"github.com/vitrine-dev/vitrine/internal/cli/validate"
	"github.com/vitrine-dev/vitrine/server/library"
)

// Install identifies the definitions of this package in a library. The definitions of an operator have the identity of its cluster instead.
const Install = "dev"

// markInstall is the name of the mark that records whether a library holds the manifests of a cluster or of this package. The operator uses
// the same mark.
const markInstall = "install"

// DefaultInterval is the default of Options.Interval.
const DefaultInterval = 250 * time.Millisecond

// settle is the time between the checks after a change. The manifests are loaded only when two checks find the same state, because a
// program may still be writing a file.
const settle = 50 * time.Millisecond

// Options configure a Folder.
type Options struct {
	// Library receives the definitions. Required.
	Library library.Base
	// Paths are the files and folders with the manifests, as in manifest.Files. Required.
	Paths []string
	// Namespace is the namespace for objects that do not specify one. Required.
	Namespace string
	// Login is true if the server has an identity provider, through which people log in to the console.
	Login bool
	// Interval is the time between two checks for changed files. 0 means DefaultInterval.
	Interval time.Duration
	// Report receives the result of every load. If it returns an error, Run ends. Required.
	Report func(context.Context, Load) error
}

// Load is the result of reading all manifests once.
type Load struct {
	// Report contains the findings, including the errors that the library returned.
	validate.Report
	// Kept lists, in sorted order, the objects whose last valid version the library still serves although the manifest has an error or is
	// suspended.
	Kept []string
	// Applied lists the objects whose definitions were added or changed, sorted by file. Removed is the number of definitions that were
	// removed because their manifests no longer exist.
	Applied []library.Owner
	Removed int
	// Failed is the reason why the manifests could not be read or applied at all, or nil if the load succeeded. After a failure, the
	// library keeps serving the previous definitions.
	Failed error
}

// Folder applies the manifests in files to a library, and follows the changes of the files. Of its methods, only Loaded, Rejected and
// Manifest are safe for concurrent use.
type Folder struct {
	o Options
	// files maps the owner of each definition that this Folder has applied to the file of the manifest.
	files map[library.Owner]string
	// seen is the state of the files at the last load.
	seen   string
	loaded atomic.Bool
	// last contains the objects and the errors of the last load; nil before the first load.
	last atomic.Pointer[loaded]
}

// New returns a Folder.
func New(o Options) *Folder {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	return &Folder{o: o, files: map[library.Owner]string{}}
}

// Loaded reports whether the manifests have been read and applied at least once.
func (f *Folder) Loaded() bool { return f.loaded.Load() }

// Claim records that the library holds the manifests of this package. It fails if the library holds the manifests of a cluster, because the
// definitions of both would conflict.
func (f *Folder) Claim(ctx context.Context) error {
	recorded, err := f.o.Library.Mark(markInstall)
	if err != nil {
		return fmt.Errorf("read whose manifests the store holds: %w", err)
	}
	if recorded != "" && recorded != Install {
		return fmt.Errorf("the store holds the manifests of cluster %s: use another data directory", recorded)
	}
	if err := f.o.Library.SetMark(ctx, markInstall, Install); err != nil {
		return fmt.Errorf("record whose manifests the store holds: %w", err)
	}
	return nil
}

// Run loads the manifests, and loads them again after each change to a file, until ctx ends or Report fails. After a change, it waits until
// two consecutive checks find the files in the same state. It retries a failed load, and reports consecutive equal failures only once.
func (f *Folder) Run(ctx context.Context) error {
	failed := ""
	for last := f.state(); ; {
		state := f.state()
		if state == last && (state != f.seen || failed != "") {
			f.seen = state
			load := f.Load(ctx)
			before := failed
			if failed = ""; load.Failed != nil {
				failed = load.Failed.Error()
			}
			if ctx.Err() != nil {
				return nil
			}
			if failed == "" || failed != before {
				if err := f.o.Report(ctx, load); err != nil {
					return err
				}
			}
		}
		wait := f.o.Interval
		if state != last {
			wait = min(wait, settle)
		}
		last = state
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// state returns the names, sizes and modification times of the files as a text. It does not read the files.
func (f *Folder) state() string {
	files, err := manifest.Files(f.o.Paths)
	if err != nil {
		return err.Error()
	}
	b := strings.Builder{}
	b.WriteString("files:\n") // the state is never "", so that Run also loads an empty folder
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%s\x00%d\x00%d\n", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// Load reads the manifests and applies them to the library.
func (f *Folder) Load(ctx context.Context) Load {
	l, err := f.load(ctx)
	if err != nil {
		l.Failed = err
		f.rejectAll(err)
	} else {
		f.loaded.Store(true)
	}
	return l
}

func (f *Folder) load(ctx context.Context) (l Load, err error) {
	files, err := manifest.Files(f.o.Paths)
	if err != nil {
		return l, err
	}
	objects, problems, err := manifest.Read(files, nil, validate.Ours)
	if err != nil {
		return l, err
	}
	report, judged, err := validate.Run(ctx, objects, problems, f.o.Namespace)
	if err != nil {
		return l, err
	}
	if !f.o.Login {
		report.WarnSubjects(judged)
	}
	l.Report = report
	unreadable := map[string]bool{}
	for _, p := range problems {
		unreadable[p.Place.File] = true
	}
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.Size() == 0 {
			unreadable[name] = true // a program may be about to write the file
		}
	}
	sound, there := applicable(judged, unreadable)
	// Remove definitions first, because a new object can claim something that a deleted object held.
	others, removed, err := f.removeDeleted(ctx, there, unreadable)
	if err != nil {
		return l, err
	}
	l.Removed = removed
	defs, err := f.definitions(ctx, sound, judged)
	if err != nil {
		return l, err
	}
	results, err := f.o.Library.Apply(ctx, defs)
	if err != nil {
		return l, fmt.Errorf("apply the manifests: %w", err)
	}
	for i, j := range sound {
		owner, r := defs[i].Owner, results[i]
		if r.Err != nil {
			l.Refuse(j, r.Err)
			continue
		}
		f.files[owner] = j.Value("").File
		delete(others, owner)
		if r.Changed {
			l.Applied = append(l.Applied, owner)
		}
	}
	for owner := range others {
		l.Kept = append(l.Kept, owner.String())
	}
	slices.Sort(l.Kept)
	f.remember(l, judged)
	return l, nil
}

// applicable returns the objects to apply, and the owners of all objects, including those that cannot be applied. It adds the file of an
// object that could be any object to the unreadable files.
func applicable(judged []validate.Judged, unreadable map[string]bool) (sound []validate.Judged, there map[library.Owner]bool) {
	there = map[library.Owner]bool{}
	for _, j := range judged {
		if j.Typed == nil || j.GetName() == "" {
			unreadable[j.Value("").File] = true
			continue
		}
		owner := j.Owner(Install)
		if j.Sound && !j.Typed.Suspended() && !there[owner] {
			sound = append(sound, j)
		}
		there[owner] = true
	}
	return sound, there
}

// removeDeleted removes the definitions whose manifests were deleted. It returns the owners of the remaining definitions, except for the
// tokens of tokenOwner. declared contains the owners of all objects in the manifests. removeDeleted keeps all definitions whose manifests
// are in an unreadable file.
func (f *Folder) removeDeleted(ctx context.Context, declared map[library.Owner]bool, unreadable map[string]bool) (others map[library.Owner]bool, removed int, err error) {
	known, err := f.o.Library.Owners(ctx, library.Scope{Install: Install, Kinds: library.Kinds()})
	if err != nil {
		return nil, 0, fmt.Errorf("list the definitions: %w", err)
	}
	others = map[library.Owner]bool{}
	var gone []library.Owner
	for _, owner := range known {
		file, sure := f.files[owner]
		switch {
		case owner.Internal():
		case declared[owner] || unreadable[file] || !sure && len(unreadable) > 0:
			others[owner] = true
		default:
			gone = append(gone, owner)
			delete(f.files, owner)
		}
	}
	if len(gone) == 0 {
		return others, 0, nil
	}
	if removed, err = f.o.Library.Remove(ctx, gone); err != nil {
		return nil, 0, fmt.Errorf("remove the definitions of deleted manifests: %w", err)
	}
	return others, removed, nil
}

// definitions returns the definitions of objects, in the same order, followed by a READ-WRITE token for each Property among them. all
// contains all objects in the manifests; the tokens among objects can refer to them.
func (f *Folder) definitions(ctx context.Context, objects, all []validate.Judged) ([]library.Definition, error) {
	var defs, tokens []library.Definition
	for _, j := range objects {
		d := j.Judgement.Definition
		d.Owner.Install = Install
		switch {
		case d.Unit != nil:
			stored, err := f.o.Library.Definition(ctx, d.Owner)
			if err != nil && !errors.Is(err, library.ErrNotFound) {
				return nil, fmt.Errorf("read a unit: %w", err)
			}
			d = translate.Modified(d, &stored, time.Now())
		case d.Token != nil:
			token := j.Typed.(*v1alpha1.AccessToken)
			var err error
			if d, _, err = translate.AccessToken(Install, token, f.values(d.Owner), f.filters(token, all)); err != nil {
				return nil, fmt.Errorf("translate a token: %w", err)
			}
		case d.PropertySpec != nil:
			owner := tokenOwner(d.Property)
			tokens = append(tokens, library.Definition{
				Property: d.Property, Owner: owner, Token: &library.Token{ReadWrite: true, Values: f.values(owner)},
			})
		}
		defs = append(defs, d)
	}
	return append(defs, tokens...), nil
}

// tokenOwner returns the owner of the READ-WRITE token of a Property (see library.Owner.Internal). The token stops working when the
// Property is removed.
func tokenOwner(p library.PropertyID) library.Owner {
	namespace, name, _ := strings.Cut(string(p), "/")
	return library.Owner{Install: Install, Kind: library.KindToken, Namespace: namespace, Name: "/" + name}
}

// Token returns the READ-WRITE token of a Property. The token depends only on the Property and on the library, so it stays the same as long
// as the library exists.
func (f *Folder) Token(p library.PropertyID) string { return f.text(tokenOwner(p)) }

// Tokens returns the values of the AccessTokens that are served.
func (f *Folder) Tokens() map[library.Owner]string {
	tokens := map[library.Owner]string{}
	for owner := range f.files {
		if owner.Kind == library.KindToken {
			tokens[owner] = f.text(owner)
		}
	}
	return tokens
}

// Webhooks returns the Webhooks whose manifests are valid, in sorted order.
func (f *Folder) Webhooks() []library.Owner {
	var hooks []library.Owner
	for owner := range f.files {
		if owner.Kind == library.KindWebhook {
			hooks = append(hooks, owner)
		}
	}
	slices.SortFunc(hooks, func(a, b library.Owner) int { return strings.Compare(a.String(), b.String()) })
	return hooks
}

func (f *Folder) text(owner library.Owner) string {
	h := hmac.New(sha256.New, f.o.Library.AuthorKey())
	fmt.Fprintf(h, "vitrine dev token\x00%s\x00%s", owner.Namespace, owner.Name)
	return "dev-" + hex.EncodeToString(h.Sum(nil)[:20])
}

func (f *Folder) values(owner library.Owner) []library.TokenValue {
	return []library.TokenValue{{Digest: sha256.Sum256([]byte(f.text(owner)))}}
}

// filters returns the UUIDs of the filters in spec.filters of a token, as the operator does. For a filter whose manifest is missing or
// invalid, it returns the UUID that the filter will have.
func (f *Folder) filters(t *v1alpha1.AccessToken, objects []validate.Judged) []string {
	var uuids []string
	for _, name := range t.Spec.Filters {
		uuid, _ := library.FilterIDs(translate.PropertyID(t), library.KindFilter, t.PropertyNamespace(), name)
		for _, j := range objects {
			filter, ok := j.Typed.(*v1alpha1.ContentFilter)
			if !ok || filter.Namespace != t.PropertyNamespace() || filter.Name != name || filter.Spec.Adopt == nil {
				continue
			}
			uuid = ""
			if adopted, err := f.o.Library.Filter(translate.PropertyID(t), library.FilterRef{ID: filter.Spec.Adopt.FilterID}); err == nil {
				uuid = adopted.UUID
			}
		}
		if uuid != "" {
			uuids = append(uuids, uuid)
		}
	}
	return uuids
}
