// Command install builds the installation files from config:
//
//	go -C hack/install run . manifest -image REPOSITORY:TAG >dist/install.yaml     the objects of config/default, in one file
//	go -C hack/install run . crds >dist/crds.yaml                                 the CRDs, in one file
//	go -C hack/install run . values >config/chart/README.md                       the page about the values of the chart
//	go -C hack/install run . chart -version V -to dist [-repository REPOSITORY]   config/chart as a Helm package
//
// The command needs neither a cluster nor the network. helm-docs was refused for the page about the values, because it needs marks in the
// comments of values.yaml, which users of the chart read.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/vitrine-dev/vitrine/hack/install/render"
)

// errUsage describes the commands.
var errUsage = errors.New("usage: install manifest [-config DIR] -image REPOSITORY:TAG, install crds [-config DIR], install values [-config DIR], or install chart [-config DIR] [-repository REPOSITORY] -version V -to DIR")

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "install: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	config := flags.String("config", filepath.Join("..", "..", "config"), "the folder of the sources")
	switch args[0] {
	case "manifest":
		name := flags.String("image", "", "the image of the server, with its tag or digest")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		at, err := render.Image(*name)
		if err != nil {
			return err
		}
		text, err := render.Kustomize(filepath.Join(*config, "default"), at)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	case "crds":
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		text, err := render.Kustomize(filepath.Join(*config, "crd"), types.Image{})
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	case "values":
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return writeValues(filepath.Join(*config, "chart"), out)
	case "chart":
		version := flags.String("version", "", "the version of the chart and of the server: a semantic version")
		repository := flags.String("repository", "", "the default of the chart's value image.repository (default: the one in the source)")
		to := flags.String("to", ".", "the folder to write to")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		path, err := render.Package(filepath.Join(*config, "chart"), *version, *repository, *to)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, path)
		return nil
	}
	return errUsage
}
