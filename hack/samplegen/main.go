// Command samplegen writes sample content as NDJSON, ready for `vitrine import`: items of our own making, in nine
// languages, the same bytes every time.
//
//	go run ./hack/samplegen [-items 2000] [-output FILE]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/vitrine-dev/vitrine/hack/samplegen/sample"
)

func main() {
	items := flag.Int("items", sample.Default, "how many items to write")
	output := flag.String("output", "-", "the file to write to; - is the standard output")
	flag.Parse()
	if err := run(*items, *output); err != nil {
		fmt.Fprintf(os.Stderr, "samplegen: %v\n", err)
		os.Exit(1)
	}
}

func run(items int, output string) (err error) {
	if items < 1 || items > 1_000_000 {
		return fmt.Errorf("-items %d: give a number from 1 to 1000000", items)
	}
	var w io.Writer = os.Stdout
	if output != "-" {
		file, err := os.Create(output)
		if err != nil {
			return fmt.Errorf("create the output: %w", err)
		}
		defer func() {
			if closing := file.Close(); err == nil && closing != nil {
				err = fmt.Errorf("close the output: %w", closing)
			}
		}()
		w = file
	}
	if err := sample.Write(w, items); err != nil {
		return fmt.Errorf("write the sample: %w", err)
	}
	return nil
}
