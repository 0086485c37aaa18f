// Command samplegen writes sample content as NDJSON for `vitrine import`: invented items in nine languages, always the same bytes.
//
//	go run ./hack/samplegen [-items 2000] [-output FILE]
//
// gofakeit was refused, because its values depend on its version.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/vitrine-dev/vitrine/internal/sample"
)

func main() {
	items := flag.Int("items", sample.Default, "number of items to write")
	output := flag.String("output", "-", "the file to write to; - means standard output")
	flag.Parse()
	if err := run(*items, *output); err != nil {
		fmt.Fprintf(os.Stderr, "samplegen: %v\n", err)
		os.Exit(1)
	}
}

func run(items int, output string) error {
	if items < 1 || items > 1_000_000 {
		return fmt.Errorf("-items %d: use a number from 1 to 1000000", items)
	}
	if output == "-" {
		return sample.Write(os.Stdout, items)
	}
	file, err := os.Create(output)
	if err != nil {
		return fmt.Errorf("create the output: %w", err)
	}
	return errors.Join(sample.Write(file, items), file.Close())
}
