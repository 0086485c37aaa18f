// Command image builds Vitrine's container image, without a container engine, a registry or a base image. It also builds the archives with
// the command-line programs:
//
//	go -C hack/image run . -ref vitrine:v1 -to dist/image.tar [-architectures amd64,arm64] [-version V]
//	go -C hack/image run . -root DIR [-architectures amd64]
//	go -C hack/image run . -archives DIR -version V -platforms linux/amd64,windows/amd64 [-ref vitrine:V -to FILE]
//
// The first form writes a tar file that is both an OCI image layout with one manifest for each architecture and an input of `docker
// load`. The second form writes the root filesystem of one image to DIR, for the Dockerfile. hack/release uses the third form.
// With the same version of Go, the same commit produces the same files on every machine. ko was refused, because its images begin with a base
// image from a registry.
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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/distribution/reference"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	from := &source{}
	flags.StringVar(&from.dir, "source", filepath.Join("..", ".."), "the root of the repository")
	flags.StringVar(&from.version, "version", "", "the version that the binaries report (default: the version that Go derives from the repository)")
	ref := flags.String("ref", "", "name and tag of the image")
	to := flags.String("to", "", "the archive to write")
	root := flags.String("root", "", "write the root filesystem for one architecture into this directory instead")
	archives := flags.String("archives", "", "write the archives with the command-line programs into this directory; if -ref is not set, build no image")
	systems := flags.String("platforms", "", "the platforms of the archives, separated by commas")
	list := flags.String("architectures", "", "the architectures to build for, separated by commas (default: amd64,arm64; with -root: the architecture of this machine)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *archives != "" {
		if from.version == "" {
			return errors.New("-archives requires -version, because the names of the archives contain the version")
		}
		if err := archivePrograms(ctx, from, strings.Split(*systems, ","), *archives); err != nil || *ref == "" {
			return err
		}
	}
	architectures, err := parseArchitectures(*list, *root != "")
	if err != nil {
		return err
	}
	if *root != "" {
		return writeRoot(ctx, from, architectures, *root)
	}
	return writeImage(ctx, from, architectures, *ref, *to, out)
}

// writeRoot writes the root filesystem of the image for one architecture to a directory.
func writeRoot(ctx context.Context, from *source, architectures []string, dir string) error {
	if len(architectures) != 1 {
		return errors.New("-root: -architectures must name exactly one architecture")
	}
	files, err := build(ctx, from, architectures[0])
	if err != nil {
		return err
	}
	// Omit the directory of the store, whose owner is not root. The Dockerfile creates it.
	return writeFiles(dir, slices.DeleteFunc(files, func(f file) bool { return f.uid != 0 }))
}

// writeImage writes the image for all architectures to the file `to`, and prints the sizes and the digest to out.
func writeImage(ctx context.Context, from *source, architectures []string, ref, to string, out io.Writer) error {
	name, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return fmt.Errorf("-ref %q: %w", ref, err)
	}
	tagged, ok := name.(reference.NamedTagged)
	if !ok || to == "" {
		return errors.New("-ref NAME:TAG and -to FILE are required")
	}
	s := stamp{version: tagged.Tag()}
	if s.revision, s.created, err = commit(ctx, from.dir); err != nil {
		return err
	}
	images := make([]platformImage, len(architectures))
	for i, arch := range architectures {
		files, err := build(ctx, from, arch)
		if err != nil {
			return err
		}
		if images[i], err = newImage(arch, files, s); err != nil {
			return err
		}
		fmt.Fprintf(out, "linux/%s: %.1f MB, %.1f MB unpacked\n", arch, float64(images[i].packed)/1e6, float64(images[i].unpacked)/1e6)
	}
	digest, err := writeArchive(to, tagged, s.created, images)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s@%s\n%s\n", reference.FamiliarString(tagged), digest, to)
	return nil
}

// parseArchitectures parses a comma-separated list. An empty list means all architectures or, if own is true, the architecture of this
// machine.
func parseArchitectures(list string, own bool) ([]string, error) {
	supported := []string{"amd64", "arm64"}
	switch {
	case list == "" && own:
		return []string{runtime.GOARCH}, nil
	case list == "":
		return supported, nil
	}
	architectures := strings.Split(list, ",")
	for _, a := range architectures {
		if !slices.Contains(supported, a) {
			return nil, fmt.Errorf("-architectures %q: the architectures are %s", a, strings.Join(supported, ", "))
		}
	}
	return architectures, nil
}

// commit returns the commit of the sources and its time. Without a repository, the commit is empty and the time is 1970.
// SOURCE_DATE_EPOCH takes precedence over the time of the commit.
func commit(ctx context.Context, source string) (revision string, at time.Time, err error) {
	seconds := "0"
	if text, err := exec.CommandContext(ctx, "git", "-C", source, "log", "-1", "--format=%H %ct").Output(); err == nil {
		revision, seconds, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q: must be a number of seconds since 1970: %w", seconds, err)
	}
	return revision, time.Unix(n, 0).UTC(), nil
}
