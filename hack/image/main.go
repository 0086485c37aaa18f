// Command image makes Vitrine's container image from the Dockerfile, without an engine and without pulling anything:
//
//	go -C hack/image run . -ref vitrine:v1 -to dist/vitrine.tar [-architectures amd64,arm64]
//
// It leaves the files of the image in dist/image, from where `docker build` or `buildah build` take them with the same
// Dockerfile; -stage-only ends there. The same commit gives the same image, wherever it is built with the same Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vitrine-dev/vitrine/hack/image/archive"
	"github.com/vitrine-dev/vitrine/hack/image/recipe"
	"github.com/vitrine-dev/vitrine/hack/image/stage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// limit is how many bytes the image may take on a node: what a platform team wants to hear of before it is more.
const limit = 60_000_000

// options are the flags.
type options struct {
	source        string
	name, tag, to string
	architectures []string
	stageOnly     bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.source, "source", filepath.Join("..", ".."), "the root of the repository")
	ref := flags.String("ref", "", "the image's name and tag")
	flags.StringVar(&o.to, "to", "", "the archive to write")
	architectures := flags.String("architectures", strings.Join(stage.Architectures(), ","), "for which to build, with commas between them")
	flags.BoolVar(&o.stageOnly, "stage-only", false, "only make the files of the image")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.architectures = strings.Split(*architectures, ",")
	for _, a := range o.architectures {
		if !slices.Contains(stage.Architectures(), a) {
			return fmt.Errorf("-architectures: %q is none of %s", a, strings.Join(stage.Architectures(), ", "))
		}
	}
	if at := strings.LastIndexByte(*ref, ':'); at > 0 && !strings.Contains((*ref)[at:], "/") {
		o.name, o.tag = (*ref)[:at], (*ref)[at+1:]
	}
	if !o.stageOnly && (o.tag == "" || o.to == "") {
		return errors.New("want -ref name:tag and -to FILE")
	}
	var err error
	if o.source, err = filepath.Abs(o.source); err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	return build(ctx, o, out)
}

// build makes the files, and from them the archive.
func build(ctx context.Context, o options, out io.Writer) error {
	dir := filepath.Join(o.source, "dist", "image")
	if err := stage.Common(filepath.Join(dir, "common")); err != nil {
		return err
	}
	for _, a := range o.architectures {
		begin := time.Now()
		const pkg = "./cmd/vitrine"
		binary := filepath.Join(dir, a, "vitrine")
		if err := stage.Binary(ctx, o.source, pkg, a, binary); err != nil {
			return err
		}
		if err := stage.Documents(ctx, o.source, pkg, a, binary, filepath.Join(dir, a, "doc")); err != nil {
			return err
		}
		fmt.Fprintf(out, "built for %s in %s\n", a, time.Since(begin).Round(time.Second))
	}
	if o.stageOnly {
		return nil
	}
	revision, created, err := commit(ctx, o.source)
	if err != nil {
		return err
	}
	a := archive.Archive{Name: o.name, Tag: o.tag, Created: created}
	for _, arch := range o.architectures {
		image, err := imageFor(o, arch, map[string]string{"TARGETARCH": arch, "VERSION": a.Tag, "REVISION": revision})
		if err != nil {
			return err
		}
		a.Images = append(a.Images, image)
	}
	return write(a, o.to, out)
}

// imageFor carries the Dockerfile out.
func imageFor(o options, arch string, args map[string]string) (archive.Image, error) {
	file, err := os.Open(filepath.Join(o.source, "Dockerfile"))
	if err != nil {
		return archive.Image{}, fmt.Errorf("read the recipe: %w", err)
	}
	defer file.Close()
	r, err := recipe.Read(file, args)
	if err != nil {
		return archive.Image{}, fmt.Errorf("read the Dockerfile: %w", err)
	}
	image := archive.Image{Architecture: arch, Config: r.Config}
	for _, c := range r.Copies {
		layer, err := archive.Collect(os.DirFS(o.source), c)
		if err != nil {
			return archive.Image{}, err
		}
		image.Layers = append(image.Layers, layer)
	}
	return image, nil
}

// write puts the archive at its place when it is complete, and says what it is.
func write(a archive.Archive, to string, out io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("make the folder of the archive: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(to), ".image-*")
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	summary, err := a.Write(file)
	if err != nil {
		return err
	}
	for arch, size := range summary.Unpacked {
		if size >= limit {
			return fmt.Errorf("the image for %s has %d bytes unpacked, and %d are too many: look what came in (go version -m, go tool nm -size)", arch, size, limit)
		}
	}
	if err := errors.Join(file.Chmod(0o644), file.Close(), os.Rename(file.Name(), to)); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	for _, image := range a.Images {
		const mb = 1e6
		fmt.Fprintf(out, "linux/%s: %.1f MB, %.1f MB unpacked\n", image.Architecture,
			float64(summary.Sizes[image.Architecture])/mb, float64(summary.Unpacked[image.Architecture])/mb)
	}
	fmt.Fprintf(out, "%s:%s@%s\n%s\n", a.Name, a.Tag, summary.Digest, to)
	return nil
}

// commit returns what the sources are, and since when. Without a repository that is nothing, and SOURCE_DATE_EPOCH or 1970.
func commit(ctx context.Context, source string) (revision string, at time.Time, err error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	text, err := exec.CommandContext(ctx, "git", "-C", source, "log", "-1", "--format=%H %ct").Output()
	if err == nil {
		var since string
		revision, since, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
		if seconds == "" {
			seconds = since
		}
	}
	if seconds == "" {
		seconds = "0"
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q: want seconds since 1970: %w", seconds, err)
	}
	return revision, time.Unix(n, 0).UTC(), nil
}
